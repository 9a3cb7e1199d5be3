import type pg from 'pg';
import type { NanoUsd } from '#core/money.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { Actor } from '../audit/audit.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, records, run, sql } from '../connection/connection-pool.ts';
import { nearestMilliseconds } from '../connection/milliseconds.ts';
import type { Loss } from '../costs/losses.ts';
import { storable } from './charge-records.ts';
import { type AnySettlement, dueNanoUsd, type Settlement } from './ledger.ts';
import { addLosses } from './loss-rows.ts';
import { encodeForOperator, parseSettlementJson } from './settlement-json.ts';
import { isSettlement } from './settlement-shape.ts';
import { chargeOne } from './settlement-writer.ts';

/** A dead letter that waits for an operator's decision. */
export interface DeadLetter {
  readonly generationId: string;
  readonly organizationId: string;
  readonly reason: string;
  /** True if the client received the response, or may have. */
  readonly delivered: boolean;
  /** Amount to charge, at most the hold. `undefined`: the stored text is no settlement. */
  readonly dueNanoUsd?: NanoUsd;
  readonly model?: string;
  readonly createdAtMs: number;
}

type Resolution = 'charged' | 'forgiven';

export type ResolvedLetter =
  | { readonly kind: 'resolved'; readonly resolution: Resolution; readonly amountNanoUsd: NanoUsd }
  | { readonly kind: 'resolved_before'; readonly resolution: Resolution; readonly resolvedAtMs: number }
  /** The ledger still refuses the charge, or the stored text is not a settlement. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown' };

const LONGEST_REASON = 1_000;

const ADD = sql('add_dead_letter')`
  insert into dead_letters (generation_id, organization_id, reason, settlement, delivered, due_nano_usd)
    values ($1, $2, $3, $4, $5, $6)
    on conflict do nothing`;
const COLUMNS = `generation_id as "generationId", organization_id as "organizationId", reason, settlement, delivered, resolution,
  ${nearestMilliseconds('created_at')} as "createdAtMs", ${nearestMilliseconds('resolved_at')} as "resolvedAtMs"`;
const LIST = sql('list_dead_letters')`
  select ${COLUMNS} from dead_letters where resolution is null order by created_at, generation_id`;
const LOCK = sql('lock_dead_letter')`select ${COLUMNS} from dead_letters where generation_id = $1 for update`;
const RESOLVE = sql('resolve_dead_letter')`
  update dead_letters set resolution = $2, resolved_at = now() where generation_id = $1`;
const CHARGED = sql('charged_of_dead_letter')`select cost_nano_usd from generations where id = $1`;

interface LetterRow extends DeadLetter {
  readonly settlement: string;
  readonly resolution?: Resolution;
  readonly resolvedAtMs?: number;
}

export async function addDeadLetter(
  pool: pg.Pool,
  settlement: AnySettlement,
  why: unknown,
  delivered: boolean,
): Promise<void> {
  const { generationId, organizationId } = settlement;
  const reason = causesOf(why).join(': ').slice(0, LONGEST_REASON);
  const values = [generationId, organizationId, reason, encodeForOperator(settlement), delivered];
  await run(pool, ADD, [...values, storable(dueNanoUsd(settlement))]);
}

/** Returns open dead letters, oldest first. */
export async function listDeadLetters(pool: pg.Pool): Promise<readonly DeadLetter[]> {
  const rows = await records<LetterRow>(pool, LIST, []);
  return rows.map((row) => {
    const settlement = settlementIn(row);
    return settlement ? { ...row, dueNanoUsd: dueNanoUsd(settlement), model: settlement.model } : row;
  });
}

/** Charges a dead letter now, or returns the reason why the ledger still refuses it. */
export async function retryDeadLetter(pool: pg.Pool, generationId: string, by: Actor): Promise<ResolvedLetter> {
  try {
    return await resolve(pool, generationId, by, 'charged', async (client, row) => {
      const settlement = settlementIn(row);
      if (settlement === undefined) return 'what was kept of it is no charge';
      await chargeOne(client, settlement);
      const [charged] = await run<{ cost_nano_usd: string }>(client, CHARGED, [generationId]);
      return BigInt(String(charged?.cost_nano_usd));
    });
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    return { kind: 'refused', reason: causesOf(error).join(': ') };
  }
}

/** Books a dead letter as the operator's loss. */
export async function forgiveDeadLetter(pool: pg.Pool, generationId: string, by: Actor): Promise<ResolvedLetter> {
  return resolve(pool, generationId, by, 'forgiven', async (client, row) => {
    const settlement = settlementIn(row);
    const amountNanoUsd = settlement ? storable(dueNanoUsd(settlement)) : 0n;
    const of = { generationId, organizationId: row.organizationId, amountNanoUsd };
    const { model = '', provider = '' } = settlement ?? {};
    await addLosses(client, [{ ...of, reason: 'forgiven', model, provider } satisfies Loss]);
    return amountNanoUsd;
  });
}

/**
 * Resolves a dead letter in one transaction with `work` and the audit event. `work` returns the
 * resolution, or the reason why there is none.
 */
async function resolve(
  pool: pg.Pool,
  generationId: string,
  by: Actor,
  resolution: Resolution,
  work: (client: pg.PoolClient, row: LetterRow) => Promise<bigint | string>,
): Promise<ResolvedLetter> {
  return inTransaction(pool, 'begin', async (client): Promise<ResolvedLetter> => {
    const [row] = await records<LetterRow>(client, LOCK, [generationId]);
    if (!row) return { kind: 'unknown' };
    const { resolution: before, resolvedAtMs = 0 } = row;
    if (before !== undefined) return { kind: 'resolved_before', resolution: before, resolvedAtMs };
    const amountNanoUsd = await work(client, row);
    if (typeof amountNanoUsd === 'string') return { kind: 'refused', reason: amountNanoUsd };
    await run(client, RESOLVE, [generationId, resolution]);
    const action = resolution === 'charged' ? 'charge.retried' : 'charge.forgiven';
    const changes = { amountNanoUsd: [null, amountNanoUsd.toString()] } as const;
    await addAuditEvent(client, { action, subjectId: generationId, subjectName: generationId, changes }, by);
    return { kind: 'resolved', resolution, amountNanoUsd };
  });
}

function settlementIn({ settlement: text }: LetterRow): Settlement | undefined {
  const settlement = parseSettlementJson(text);
  return isSettlement(settlement) ? settlement : undefined;
}

/** Messages of an error and its causes. The innermost is the reason. */
function causesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [String(error)];
  return [error.message, ...causesOf(error.cause)];
}
