/** What is wrong with a real machine, and what it should reach: from the outputs of tools that are on it. */
import { useEffect, useRef } from "preact/hooks";
import { isServed } from "../simulator/served.ts";
import { DUMPS, dump } from "./dumps.ts";
import { LONGEST_IN_FIELD, ofText, readFiles } from "./given.ts";
import { MachinePart } from "./machine.tsx";
import { hasPython } from "./python-files.ts";
import { doing, ended, failure, look, machine, stop } from "./state.ts";

export function DiagnoseTab() {
  const isPossible = isServed() || hasPython();
  useEffect(() => (isPossible ? takeDrops() : undefined), [isPossible]);
  return (
    <section
      class="panel diagnose"
      aria-label="Diagnose a machine"
      aria-busy={doing.value !== null}
      data-ended={ended.value}
    >
      {isPossible ? <Sources /> : <NotInThisFile />}
      <Doing />
      {machine.value && <MachinePart looked={machine.value} />}
    </section>
  );
}

function Sources() {
  const field = useRef<HTMLTextAreaElement>(null);
  return (
    <>
      <p>
        What is wrong with a machine, what does that cost, and what should it reach? Run <code>sudo lspci -vvv</code> on it, and drop the
        output here. {isServed() ? "The server reads it; nothing is kept there." : "It is read in this page and goes nowhere."}
      </p>
      <div class="row sources">
        <label class="drop">
          <span>Drop files here, or choose them</span>
          <input
            id="dumps"
            type="file"
            multiple
            onChange={(event) => {
              const { files } = event.currentTarget;
              const chosen = [...(files ?? [])];
              event.currentTarget.value = "";
              void look(() => readFiles(chosen));
            }}
          />
        </label>
        <label>
          Or try{" "}
          <select
            id="dump"
            value=""
            onChange={(event) => {
              const name = event.currentTarget.value;
              event.currentTarget.value = "";
              void look(() => dump(name));
            }}
          >
            <option value="">a made-up machine…</option>
            {DUMPS.map(({ name, title }) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      <details class="paste">
        <summary>Paste a text</summary>
        <label for="pasted">Output of a tool</label>
        <textarea
          id="pasted"
          ref={field}
          rows={5}
          spellcheck={false}
          onPaste={(event) => {
            const text = event.clipboardData?.getData("text/plain") ?? "";
            if (text.length <= LONGEST_IN_FIELD) return;
            event.preventDefault();
            void look(() => Promise.resolve([ofText(text)]));
          }}
        />
        <button id="read-pasted" onClick={() => void look(() => Promise.resolve([ofText(field.current?.value ?? "")]))}>
          Read it
        </button>
      </details>
      <details>
        <summary>Which files are understood</summary>
        <p>
          <code>lspci -vvv</code>, <code>-xxxx</code> or <code>-tv</code>, hwloc and NCCL XML, <code>nvidia-smi -q</code>,{" "}
          <code>lshw -json</code>, kernel logs, a copy of <code>/sys/bus/pci</code> in a tar, and archives of those. Several files are of
          one machine: its <code>lspci</code> with <code>dmesg</code>, <code>nvidia-smi topo -m</code>, <code>dmidecode -t slot</code>.
          Limits are those of <code>lanewise scan</code>.
        </p>
      </details>
    </>
  );
}

function NotInThisFile() {
  return (
    <div id="not-in-this-file">
      <p>
        This file of the lab has no diagnosis in it: it would be five times as large. What <code>lspci -vvv</code> of a machine says is
        read, checked and predicted
      </p>
      <ul>
        <li>
          on the command line: <code>lanewise doctor lspci.txt</code>
        </li>
        <li>
          in a file of the lab with diagnosis: <code>lanewise lab --with-diagnosis --out lab.html</code>
        </li>
        <li>
          in the lab as a folder on a web server, and in <code>lanewise serve</code>.
        </li>
      </ul>
    </div>
  );
}

function Doing() {
  const now = doing.value;
  return (
    <>
      <div id="doing" role="status">
        {now && (
          <div class="row doing">
            <span>{now.words}</span>
            <progress aria-label={now.words} {...(now.part === null ? {} : { value: now.part })} />
            <button id="stop-looking" onClick={stop}>
              Stop
            </button>
          </div>
        )}
      </div>
      {failure.value && (
        <p class="why" id="diagnose-failure" role="alert">
          {failure.value}
        </p>
      )}
    </>
  );
}

/** Takes what is dropped anywhere on the page, where a browser would go to the file; the editor takes what is dropped on it. */
function takeDrops(): () => void {
  const listening = new AbortController();
  const { signal } = listening;
  window.addEventListener("dragover", (event) => event.preventDefault(), { signal });
  window.addEventListener(
    "drop",
    (event) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (event.defaultPrevented || files.length === 0) return;
      event.preventDefault();
      void look(() => readFiles(files));
    },
    { signal },
  );
  return () => listening.abort();
}
