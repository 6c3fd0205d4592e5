/** The server reads the machine: its native core and Python in the place of those of the page. */
import type { Examiner } from "./examiner.ts";
import type { Answered, Answers, Given, Scan } from "./protocol.ts";

export class ServedExaminer implements Examiner {
  readonly isOver = false;
  #given: Given[] = [];
  #stopping = new AbortController();

  async scan(given: Given[]): Promise<Answered<Scan>> {
    const answer = await this.#asked<Scan>("scan", given);
    // What cannot be read takes the place of nothing.
    if (!("errors" in answer)) this.#given = given;
    return answer;
  }

  about<V extends keyof Answers>(verb: V): Promise<Answered<Answers[V]>> {
    return this.#asked(verb, this.#given);
  }

  stop(): void {
    this.#stopping.abort(new Error("it was stopped"));
  }

  /** The server keeps no machine: each question has the files with it, one after another, and how long each is. */
  async #asked<T>(verb: string, given: Given[]): Promise<Answered<T>> {
    const url = new URL(`api/machines/${verb}`, document.baseURI);
    for (const { name, bytes } of given) {
      url.searchParams.append("name", name.slice(-200));
      url.searchParams.append("size", String(bytes.length));
    }
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/octet-stream" },
      body: new Blob(given.map(({ bytes }) => bytes)),
      signal: this.#stopping.signal,
    });
    if (!response.headers.get("content-type")?.startsWith("application/json")) {
      throw new Error(`the server answers ${response.status} ${response.statusText}`);
    }
    return (await response.json()) as Answered<T>;
  }
}
