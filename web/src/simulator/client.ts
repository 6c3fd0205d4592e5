/** The page's side of the simulator: a worker, or a server that has one for it, and what it answers. */
import { type Connection, connect, type Worked } from "lanewise";
import { servedSimulator } from "./served.ts";
import SimulatorWorker from "./worker.ts?worker&inline";
import { simulatorModule } from "./module.ts";

/** Time that a worker has for its first answer, ms. Generous: a phone compiles the module in a second or two. */
const PATIENCE = 20_000;

/**
 * Finds the server's simulator or starts a worker, and waits until it answers.
 *
 * @param died is called when the worker itself is no more: it ran out of memory, for example
 */
export async function startSimulator(died: (reason: string) => void): Promise<Connection> {
  const worker = (await servedSimulator()) ?? (await ownSimulator());
  const connection = connect(worker);
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error("the worker with the simulator did not answer")), PATIENCE);
  try {
    await Promise.race([connection.version(), promise]);
  } catch (error) {
    connection.stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  worker.addEventListener("error", (event) => died(event.message));
  return connection;
}

async function ownSimulator(): Promise<Worked> {
  const module = await simulatorModule();
  const worker = new SimulatorWorker();
  worker.postMessage(module);
  return worker;
}
