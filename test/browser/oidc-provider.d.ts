/** Types of the parts of the package that the tests use. It has none of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  interface GrantContext {
    readonly oidc: {
      readonly provider: { readonly Grant: new (of: { clientId: string; accountId: string }) => Grant };
      readonly session: { readonly accountId: string };
    };
  }
  interface Settings {
    readonly clients: readonly object[];
    readonly claims: Readonly<Record<string, readonly string[]>>;
    readonly cookies: { readonly keys: readonly string[] };
    readonly features: Readonly<Record<string, { readonly enabled: boolean }>>;
    findAccount(context: unknown, subject: string): { readonly accountId: string; claims(): object };
    readonly interactions: { url(context: unknown, interaction: { readonly uid: string }): string };
    loadExistingGrant(context: GrantContext): Promise<Grant>;
  }
  class Provider {
    constructor(issuer: string, settings: Settings);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: { readonly login: { readonly accountId: string } },
    ): Promise<void>;
  }

  // biome-ignore lint/style/noDefaultExport: the package exports it so.
  export { Provider as default };
}
