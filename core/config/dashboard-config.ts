import type { BrandConfig } from './brand.ts';
import type { SharedConfig } from './gateway-config.ts';

/** The configuration of the dashboard process, with the sections that only it reads. */
export interface DashboardProcessConfig extends SharedConfig {
  /** Absent: links are shown, and nothing is mailed. */
  readonly mail?: MailConfig;
  /** Ranges that customers' webhooks may reach although they are not on the Internet. */
  readonly privateNetworks: readonly string[];
  readonly signIn: SignInConfig;
  /** Empty: the page has its default look. */
  readonly brand: BrandConfig;
  /** Absent: only operators add credit. */
  readonly stripe?: StripeConfig;
}

export interface SignInConfig {
  readonly password: boolean;
  readonly oidc?: OidcConfig;
}

/** The dashboard as a client of an OpenID Connect issuer. */
export interface OidcConfig {
  /** Unchanged, because issuers are compared character by character. */
  readonly issuer: string;
  /** Name on the button. Absent: the host of the issuer. */
  readonly name?: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** A user is an operator while this claim has this value, or a list with it. */
  readonly operatorClaim?: { readonly name: string; readonly value: string };
}

export interface StripeConfig {
  readonly secretKey: string;
  readonly webhookSecret: string;
  readonly currency: 'usd';
  readonly presetsUsd: readonly number[];
  readonly leastUsd: number;
  readonly mostUsd: number;
  /** True if Stripe asks for the tax id, and makes an invoice for each payment in Checkout. */
  readonly invoices: boolean;
  readonly apiBase: URL;
}

export interface MailConfig {
  readonly server: SmtpServer;
  /** `NAME <ADDRESS>` or `ADDRESS` */
  readonly from: string;
  /** Receivers of the operators' alerts. */
  readonly operators: readonly string[];
}

export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** True: TLS from the first byte. False: STARTTLS. */
  readonly tls: boolean;
  /** Present: mails without a login need no TLS, although their links open accounts. */
  readonly plaintext?: true;
  readonly login?: { readonly user: string; readonly password: string };
}
