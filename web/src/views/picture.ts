/** The picture of the rig as a file of its own: with the colours that it has on the page. */

/** What an element of SVG is drawn with. */
const PROPERTIES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "text-anchor", "opacity"];

/** The picture that is on the page, as the text of an SVG file; an empty text if there is none. */
export function pictureOf(): string {
  const shown = document.getElementById("rig");
  if (!shown) return "";
  const copy = shown.cloneNode(true) as Element;
  // What one builds with is no part of the picture.
  const tools = copy.querySelectorAll(".free");
  const originals = [shown, ...shown.querySelectorAll("*")];
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [index, original] of originals.entries()) {
    const style = getComputedStyle(original);
    const words = PROPERTIES.map((name) => `${name}:${style.getPropertyValue(name)}`).join(";");
    copies[index]?.setAttribute("style", words);
    for (const name of ["class", "tabindex", "role", "aria-pressed", "aria-label"]) copies[index]?.removeAttribute(name);
  }
  for (const tool of tools) tool.remove();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const [, , width, height] = (shown.getAttribute("viewBox") ?? "").split(" ");
  copy.setAttribute("width", width ?? "");
  copy.setAttribute("height", height ?? "");
  const page = getComputedStyle(document.documentElement).getPropertyValue("--panel");
  copy.setAttribute("style", `background:${page}`);
  return `<?xml version="1.0" encoding="utf-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}
