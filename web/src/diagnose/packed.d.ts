/** See `packed` in vite.config.ts. */
declare module "*?packed" {
  const base64: string;
  export default base64;
}
