// Search runs in a worker, which browsers refuse to pages that were opened as files. Here a hidden frame takes its place.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      window.addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.loaded = new Promise((resolve) => (frame.onload = resolve));
      this.frame = frame;
      const page = frame.contentDocument;
      page.open();
      page.write("<html><body><script>postMessage = (data) => parent.dispatchEvent(new MessageEvent('message', {data, source: window}));" +
                 `importScripts = () => {};</scr` + `ipt><script src="${url}"></scr` + "ipt></body></html>");
      page.close();
    }
    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
