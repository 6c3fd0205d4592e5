/**
 * Search in a site that is opened from a file: browsers start no worker there. What would be one runs in a hidden frame.
 *
 * The name of this file tells the generator that it need not bring along, from the network, one that does the same.
 */
if (location.protocol === "file:") {
  /** Of a copy, as between workers: each side changes what it has. */
  const messageOf = (data) => new MessageEvent("message", { data: structuredClone(data) });

  window.Worker = class extends EventTarget {
    onmessage = null;
    onerror = null;
    #frame = document.createElement("iframe");
    /** Messages for a script that is not loaded yet. */
    #waiting = [];

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => this.#tell("message", messageOf(data));
      const script = this.#frame.contentDocument.createElement("script");
      script.src = new URL(address, document.baseURI).href;
      script.onload = () => {
        const waiting = this.#waiting;
        this.#waiting = null;
        for (const data of waiting) this.postMessage(data);
      };
      script.onerror = () => this.#tell("error", new Event("error"));
      this.#frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.#waiting) this.#waiting.push(structuredClone(data));
      else this.#frame.contentWindow?.dispatchEvent(messageOf(data));
    }

    terminate() {
      this.#frame.remove();
    }

    /** As a worker does: later, and not while who sent something still runs. */
    #tell(kind, event) {
      setTimeout(() => {
        this.dispatchEvent(event);
        this[`on${kind}`]?.(event);
      });
    }
  };
}
