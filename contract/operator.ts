import type { z } from 'zod';
import type { Comparison } from '#core/model-catalogue/comparison.ts';
import type { DatabaseConnections, ProcessFigures } from '#core/process-figures.ts';
import type { Empty } from './fields.ts';
import type { ModelFacts } from './money.ts';
import type {
  NewOrganizationInput,
  OrganizationChangeInput,
  OrganizationView,
  organizationCredit,
} from './organization.ts';
import type { AuditPage, everyAuditInput, LinkView } from './people.ts';

type RowMembers = 'id' | 'name' | 'suspendedAtMs' | 'balanceNanoUsd' | 'spentTodayNanoUsd' | 'createdAtMs';

export interface OrganizationRow extends Pick<OrganizationView, RowMembers> {
  readonly usableKeys: number;
}

export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly isOperator: boolean;
  /** The user has not set a password, and has not signed in at an issuer. */
  readonly invited: boolean;
  readonly disabledAtMs?: number;
  readonly createdAtMs: number;
  readonly lastSignedInAtMs?: number;
  readonly memberships: readonly { readonly organizationId: string; readonly name: string; readonly role: string }[];
  /** The organization whose owner invited this user. Absent if an operator did. */
  readonly cameThrough?: string;
}

export interface ProviderView {
  readonly name: string;
  readonly host: string;
  readonly hasKey: boolean;
  readonly onDisconnect?: string;
  /** True while Envoy ejects its host. */
  readonly ejected: boolean;
  /** Number of resting targets over all processes. They rest because they asked for a pause. */
  readonly restingTargets: number;
  /** `attempts` and `failures` are of the last five minutes, over all processes. */
  readonly attempts: number;
  readonly failures: number;
  readonly lastFailure?: { readonly result: string; readonly atMs: number };
}

export interface MappedModelView extends ModelFacts {
  readonly disabled: boolean;
  readonly problem?: string;
  readonly targets: readonly { readonly provider: string; readonly model: string; readonly weight?: number }[];
}

/** Comparison of the configuration file with the model catalogue of the release. */
export interface CatalogueComparison extends Comparison {
  /** For example `2026-11-23`. */
  readonly asOf: string;
}

export interface MappingView {
  readonly file?: string;
  readonly loadedAtMs?: number;
  readonly models: readonly MappedModelView[];
  readonly providers: readonly ProviderView[];
  readonly catalogue: CatalogueComparison;
  /** Reasons why the configuration file on disk is not in force. */
  readonly problems: readonly string[];
  /** Parts of the mapping in force that are valid but cannot work. */
  readonly warnings: readonly string[];
  /** Changed fields that need a restart. */
  readonly restartNeeded: readonly string[];
  /** Number of processes that have another mapping in force. */
  readonly processesBehind: number;
}

export interface ProcessView {
  readonly id: string;
  readonly host: string;
  readonly worker: number;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly reportedAtMs: number;
  /** `gone`: the last report is more than ten seconds old. */
  readonly state: 'ready' | 'draining' | 'not_ready' | 'gone';
  readonly figures: ProcessFigures;
}

export interface SystemView {
  readonly nowMs: number;
  readonly processes: readonly ProcessView[];
  readonly database: DatabaseConnections & {
    readonly version: string;
    readonly sizeBytes: number;
    readonly schemaVersion: number;
  };
  /** Charges that the ledger refused and an operator has to decide. */
  readonly deadLetters: number;
}

export interface OperatorApi {
  'GET /api/organizations': {
    query: { search?: string; after?: string };
    response: { organizations: readonly OrganizationRow[]; next?: string };
  };
  'POST /api/organizations': { body: NewOrganizationInput; response: OrganizationView };
  'PATCH /api/organizations/:organization': { body: OrganizationChangeInput; response: OrganizationView };
  'POST /api/organizations/:organization/suspension': { body: Empty; response: OrganizationView };
  'DELETE /api/organizations/:organization/suspension': { body: Empty; response: OrganizationView };
  /**
   * A negative amount is a correction. A reference is booked once over all organizations. Repeating
   * it is a `conflict` of the field `reference`.
   */
  'POST /api/organizations/:organization/credits': {
    body: z.infer<typeof organizationCredit>;
    response: OrganizationView;
  };
  'GET /api/users': {
    query: { search?: string; after?: string };
    response: { users: readonly UserRow[]; next?: string };
  };
  'POST /api/users': {
    body: { email: string; operator: boolean; organizationId?: string; role?: 'owner' | 'member' };
    response: { user: UserRow; link: LinkView };
  };
  /** A link to set a new password. The old password works until then. */
  'POST /api/users/:user/reset': { body: Empty; response: LinkView };
  /** Revokes the user's active keys in all organizations, unless `keepKeys` is set. */
  'POST /api/users/:user/disablement': { body: { keepKeys?: boolean }; response: UserRow };
  'DELETE /api/users/:user/disablement': { body: Empty; response: UserRow };
  /** Names of the price lists in the configuration file. */
  'GET /api/price-lists': { query: Empty; response: { priceLists: readonly string[] } };
  'GET /api/mapping': { query: Empty; response: MappingView };
  'GET /api/system': { query: Empty; response: SystemView };
  'GET /api/audit': { query: z.infer<typeof everyAuditInput>; response: AuditPage };
}
