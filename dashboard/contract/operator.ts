import type { Empty } from './empty.ts';
import type { OrganizationLimits, OrganizationView } from './organization.ts';
import type { AuditFilter, AuditPage, LinkView } from './people.ts';

export interface OrganizationRow {
  readonly id: string;
  readonly name: string;
  readonly suspendedAtMs?: number;
  readonly balanceNanoUsd: string;
  readonly spentTodayNanoUsd: string;
  readonly usableKeys: number;
  readonly createdAtMs: number;
}

export interface NewOrganizationInput extends Partial<OrganizationLimits> {
  readonly name: string;
  readonly creditNanoUsd?: string;
  /** Reference of the opening credit in the ledger. */
  readonly reference?: string;
}

/** Absent: stays. `null`: no longer limited. */
export interface OrganizationChangeInput {
  readonly name?: string;
  readonly requestsPerMinute?: number | null;
  readonly tokensPerMinute?: number | null;
  readonly dailyBudgetNanoUsd?: string | null;
  readonly maxTokens?: number | null;
  readonly concurrency?: number;
  readonly allowMultipleCompletions?: boolean;
}

export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly isOperator: boolean;
  readonly invited: boolean;
  readonly disabledAtMs?: number;
  readonly createdAtMs: number;
  readonly lastSignedInAtMs?: number;
  readonly memberships: readonly { readonly organizationId: string; readonly name: string; readonly role: string }[];
  /** Name of the organization whose owner invited this user. Absent: an operator made the user. */
  readonly cameThrough?: string;
}

export interface ProviderView {
  readonly name: string;
  readonly host: string;
  readonly hasKey: boolean;
  readonly onDisconnect?: string;
  /** Ejected by Envoy now. */
  readonly ejected: boolean;
  /** Over the last five minutes, all processes together. */
  readonly attempts: number;
  readonly failures: number;
  readonly lastFailure?: { readonly result: string; readonly atMs: number };
}

export interface MappedModelView {
  readonly id: string;
  readonly disabled: boolean;
  readonly problem?: string;
  readonly targets: readonly { readonly provider: string; readonly model: string }[];
  readonly capabilities: readonly string[];
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  readonly inputPicoUsd: string;
  readonly cachedInputPicoUsd: string;
  readonly outputPicoUsd: string;
}

export interface MappingView {
  readonly file?: string;
  readonly loadedAtMs?: number;
  readonly models: readonly MappedModelView[];
  readonly providers: readonly ProviderView[];
  /** Why the file that is on disk now is not in force. */
  readonly problems: readonly string[];
  /** What is in force is well formed, but this in it cannot work. */
  readonly warnings: readonly string[];
  /** Changed fields that need a restart. */
  readonly restartNeeded: readonly string[];
  /** Processes that work with another mapping than this one. */
  readonly processesBehind: number;
}

export interface ProcessView {
  readonly id: string;
  readonly host: string;
  readonly worker: number;
  readonly pid: number;
  readonly version: string;
  readonly startedAtMs: number;
  readonly reportedAtMs: number;
  /** `gone`: its last report is older than ten seconds. */
  readonly state: 'ready' | 'not_ready' | 'gone';
  readonly notReadyReason?: string;
  readonly requestsInFlight: number;
  readonly requestsPerSecond: number;
  readonly failuresPerSecond: number;
  readonly heldNanoUsd: string;
  readonly holds: number;
  readonly spoolCharges: number;
  readonly spoolBytes: number;
  readonly logRowsWaiting: number;
  readonly logRowsDropped: number;
  readonly eventLoopLagP99Ms: number;
  readonly rssBytes: number;
  readonly cpuFraction: number;
  /** Absent where another process of the host asks Envoy. */
  readonly envoy?:
    | { readonly reachable: false }
    | { readonly reachable: true; readonly version: string; readonly state: string; readonly uptimeMs: number };
}

export interface SystemView {
  readonly nowMs: number;
  readonly processes: readonly ProcessView[];
  readonly database: {
    readonly version: string;
    readonly sizeBytes: number;
    readonly connections: number;
    readonly maxConnections: number;
    readonly schemaVersion: number;
  };
  /** Charges that the ledger refused: somebody has to look. */
  readonly deadLetters: number;
}

export interface OperatorApi {
  'GET /api/organizations': {
    query: { search?: string; after?: string };
    answer: { organizations: readonly OrganizationRow[]; next?: string };
  };
  'POST /api/organizations': { body: NewOrganizationInput; answer: OrganizationView };
  'PATCH /api/organizations/:organization': { body: OrganizationChangeInput; answer: OrganizationView };
  'POST /api/organizations/:organization/suspension': { body: Empty; answer: OrganizationView };
  'DELETE /api/organizations/:organization/suspension': { body: Empty; answer: OrganizationView };
  /** Negative amounts correct. A reference is applied once, whatever organization it is for: a second time it is a `conflict` of the field `reference`. */
  'POST /api/organizations/:organization/credits': {
    body: { amountNanoUsd: string; note?: string; reference?: string };
    answer: OrganizationView;
  };
  'GET /api/users': {
    query: { search?: string; after?: string };
    answer: { users: readonly UserRow[]; next?: string };
  };
  'POST /api/users': {
    body: { email: string; operator: boolean; organizationId?: string; role?: 'owner' | 'member' };
    answer: { user: UserRow; link: LinkView };
  };
  /** A link to set a new password; until it is used, the former password stays. */
  'POST /api/users/:user/reset': { body: Empty; answer: LinkView };
  /** Keys that work and belong to the user, in every organization, are revoked unless they are kept. */
  'POST /api/users/:user/disablement': { body: { keepKeys?: boolean }; answer: UserRow };
  'DELETE /api/users/:user/disablement': { body: Empty; answer: UserRow };
  'GET /api/mapping': { query: Empty; answer: MappingView };
  'GET /api/system': { query: Empty; answer: SystemView };
  'GET /api/audit': { query: AuditFilter & { before?: string; organization?: string }; answer: AuditPage };
}
