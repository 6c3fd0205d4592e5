/** A sentence of Python's, in which backticks set code. */
export function Said({ text }: { text: string }) {
  return <>{text.split("`").map((piece, index) => (index % 2 === 1 ? <code key={index}>{piece}</code> : piece))}</>;
}
