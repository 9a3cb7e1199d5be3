/** The package's own entry also loads what fetch, caches and WebSockets need: 180 modules. */
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici';
  // biome-ignore lint/style/noDefaultExport: the module exports the class itself.
  export default Client;
}
