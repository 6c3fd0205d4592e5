/** `lanewise serve` over the page under test. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { PAGE } from "./start.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Serves the page under test from a free port, and says which. */
const SERVE = `
import socket, sys
from pathlib import Path
import uvicorn
from lanewise.serve.app import application
from lanewise.serve.settings import Limits, Settings
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
limits = Limits(pages=int(sys.argv[3]))
app = application(Settings(folder=Path(sys.argv[1]), page=Path(sys.argv[2]), limits=limits))
try:
    # What a page that goes has under way has as long to end as with "lanewise serve".
    uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=3)).run(sockets=[listener])
except KeyboardInterrupt:
    pass
`;

export interface Server {
  address: string;
  stop(): Promise<void>;
}

/** Starts one, with simulators for so many pages. */
export async function startServer(pages = 8): Promise<Server> {
  const runs = mkdtempSync(join(tmpdir(), "lanewise-served-"));
  const page = dirname(fileURLToPath(PAGE));
  const server = spawn(join(ROOT, ".venv/bin/python"), ["-c", SERVE, runs, page, String(pages)], { stdio: ["ignore", "pipe", "inherit"] });
  const port = await new Promise((resolve) => createInterface(server.stdout).once("line", resolve));
  return {
    address: `http://127.0.0.1:${port}/`,
    async stop() {
      server.kill("SIGINT");
      await new Promise((resolve) => server.once("exit", resolve));
      rmSync(runs, { recursive: true });
    },
  };
}
