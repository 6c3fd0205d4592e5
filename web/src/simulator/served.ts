/** A simulator that a server has for the page: the messages of a worker, over a WebSocket. `lanewise serve` names its address. */
import type { Worked } from "lanewise";

/** Where the page says that a server answers it. */
const NAMED = 'meta[name="lanewise-simulator"]';

/** Whether a server simulates for this page: what one types then goes there. */
export function isServed(): boolean {
  return document.querySelector(NAMED) !== null;
}

/** The server's simulator, connected; null for a page that simulates by itself. */
export async function servedSimulator(): Promise<Worked | null> {
  const place = document.querySelector<HTMLMetaElement>(NAMED)?.content;
  if (!place) return null;
  const address = new URL(place, document.baseURI);
  address.protocol = address.protocol.replace("http", "ws");
  const socket = new WebSocket(address);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("the server's simulator cannot be reached")));
  });
  return worked(socket);
}

/** A socket in the clothes of a worker. */
function worked(socket: WebSocket): Worked {
  const events = new EventTarget();
  let isStopped = false;
  socket.addEventListener("message", ({ data }: MessageEvent<string>) => {
    events.dispatchEvent(new MessageEvent("message", { data: JSON.parse(data) }));
  });
  socket.addEventListener("close", ({ reason }) => {
    const message = reason || "the connection to the server has ended";
    if (!isStopped) events.dispatchEvent(new ErrorEvent("error", { message }));
  });
  return {
    postMessage: (message) => socket.send(JSON.stringify(message)),
    terminate() {
      isStopped = true;
      socket.close();
    },
    addEventListener: (kind: string, listener: (event: never) => void) =>
      events.addEventListener(kind, listener as EventListener),
  };
}
