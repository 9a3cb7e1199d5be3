import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { REPOSITORY } from '../harness/deployment.ts';
import { type Seen, wordsOf } from './accident-requests.ts';
import type { CountingProvider } from './counting-provider.ts';

/** The gateway under test, as the operator's command line connects to it. */
export interface Judged {
  /** Connects as the owner of the database. */
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A period in which docs/stores.md permits losses for this reason, because no reachable store or
 * process could prevent them.
 */
export interface Excuse {
  readonly reason: 'balance' | 'taken_over';
  readonly from: Date;
  readonly until: Date;
}

export interface Verdict {
  /** Broken promises. Empty if every promise was kept. */
  readonly wrong: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
  readonly reconciled: unknown;
}

interface Charge {
  readonly id: string;
  readonly amount: string;
  readonly times: string;
  readonly promptTokens: string;
  readonly completionTokens: string;
}

/** Price of a token in this run, for input and output. */
const NANO_USD_PER_TOKEN = 1000n;
/**
 * Words that a killed process may have sent but not yet logged: it writes the log every 100 ms, and
 * a word takes at least 20 ms.
 */
const UNNOTED_WORDS = 10;
const EXAMPLES = 5;

/** Compares what clients and the provider saw with the ledger. */
export async function judge(
  stack: Judged,
  provider: CountingProvider,
  seen: readonly Seen[],
  excuses: readonly Excuse[] = [],
): Promise<Verdict> {
  const charges = await chargesIn(stack.databaseUrl);
  const losses = await lossesIn(stack.databaseUrl);
  const lost = new Set(losses.map(({ id }) => id));
  const excused = losses.filter((loss) => isExcused(loss, excuses));
  const takenOver = new Set(excused.filter(({ reason }) => reason === 'taken_over').map(({ id }) => id));
  const givenAway = new Map(losses.filter(({ reason }) => reason === 'balance').map(({ id, amount }) => [id, amount]));
  const found = new Map<string, string[]>();
  const count = { complete: 0, replayed: 0, error: 0, cut: 0, left: 0, refused: 0, charged: charges.size };
  const note = (rule: string, one: Seen, more: string): void => {
    const line = `${one.kind} ${one.generationId ?? '(no id)'} ${one.startedAt.toISOString()} (${one.detail}): ${more}`;
    found.set(rule, [...(found.get(rule) ?? []), line]);
  };
  for (const one of seen) {
    count[one.ending] += 1;
    const { generationId } = one;
    if (generationId === undefined || takenOver.has(generationId)) continue;
    const charge = charges.get(generationId);
    const problem = problemOf(one, charge, provider, lost.has(generationId), givenAway.get(generationId));
    if (problem !== undefined) note(problem.rule, one, problem.found);
  }
  const answers = answersByPlan(seen, takenOver);
  for (const [plan, ids] of answers) {
    const first = seen.find((one) => one.plan === plan);
    if (ids.size > 1 && first) note('a key has one answer', first, [...ids].join(' and '));
  }
  const wrong = [...found].map(
    ([rule, lines]) => `${rule}: ${lines.length} times, as\n    ${lines.slice(0, EXAMPLES).join('\n    ')}`,
  );
  wrong.push(...wrongLosses(losses.filter((loss) => !excused.includes(loss))));
  const lowest = await lowestBalance(stack.databaseUrl);
  if (lowest < 0n) wrong.push(`a balance was ${lowest} nano-dollars`);
  const verified = await gateway(stack, ['ledger', 'verify', '--json']);
  if (!verified.ok) wrong.push(`ledger verify: ${JSON.stringify(verified.json).slice(0, 2_000)}`);
  const reconciled = await reconcile(stack, provider);
  if (!reconciled.ok) wrong.push(`costs reconcile: ${JSON.stringify(reconciled.json)}`);
  return { wrong, figures: { ...count, ...lossFigures(losses) }, reconciled: reconciled.json };
}

function problemOf(
  one: Seen,
  charge: Charge | undefined,
  provider: CountingProvider,
  isLoss: boolean,
  givenAwayNanoUsd = '0',
): { readonly rule: string; readonly found: string } | undefined {
  if (charge !== undefined && charge.times !== '1')
    return { rule: 'charged once', found: `charged ${charge.times} times` };
  const completion = Number(charge?.completionTokens ?? 0);
  switch (one.ending) {
    case 'complete':
    case 'replayed': {
      const tokens = BigInt(charge?.promptTokens ?? 0) + BigInt(wordsOf(one.plan));
      const expected = String(tokens * NANO_USD_PER_TOKEN - BigInt(givenAwayNanoUsd));
      if (charge?.amount === expected && one.words === wordsOf(one.plan)) return undefined;
      return { rule: 'a complete answer is charged exactly', found: `${charge?.amount} instead of ${expected}` };
    }
    case 'error':
    case 'left':
    case 'cut': {
      if (isLoss && charge === undefined) return undefined;
      const fewest = one.ending === 'cut' ? one.words - UNNOTED_WORDS : one.words;
      const most = Math.max(one.words, provider.produced(one.plan));
      if (one.streamed && fewest > 0 && charge === undefined)
        return { rule: 'a cut stream is charged', found: `${one.words} words delivered, nothing charged` };
      if (charge === undefined || (completion >= fewest && completion <= most)) return undefined;
      return {
        rule: 'a cut stream is charged for what its client has',
        found: `${one.words} delivered, ${provider.produced(one.plan)} produced, ${completion} charged`,
      };
    }
    case 'refused':
      return charge === undefined || one.keyed
        ? undefined
        : { rule: 'a refused request is not charged', found: `${charge.amount}` };
  }
}

function answersByPlan(seen: readonly Seen[], takenOver: ReadonlySet<string>): Map<number, Set<string>> {
  const answers = new Map<number, Set<string>>();
  for (const { plan, keyed, ending, generationId = '' } of seen) {
    if (!keyed || (ending !== 'complete' && ending !== 'replayed') || takenOver.has(generationId)) continue;
    answers.set(plan, (answers.get(plan) ?? new Set()).add(generationId));
  }
  return answers;
}

async function chargesIn(url: string): Promise<Map<string, Charge>> {
  const rows = await select<Charge>(
    url,
    `select g.id, sum(-e.amount_nano_usd)::text as amount, count(*)::text as times,
       min(g.prompt_tokens)::text as "promptTokens", min(g.completion_tokens)::text as "completionTokens"
     from generations g join ledger_entries e on e.generation_id = g.id group by g.id`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

interface Loss {
  readonly id: string;
  readonly reason: string;
  /** Nano-dollars. */
  readonly amount: string;
  readonly at: Date;
}

function lossesIn(url: string): Promise<Loss[]> {
  return select<Loss>(
    url,
    'select generation_id as id, reason, amount_nano_usd::text as amount, created_at as at from losses order by created_at',
  );
}

/**
 * Losses that must not occur: the provider respects the output limit, so no charge exceeds its
 * hold, and no part of a balance is held twice.
 */
function wrongLosses(losses: readonly Loss[]): string[] {
  return losses
    .filter(({ reason }) => reason === 'over_hold' || reason === 'balance')
    .map(({ id, reason, amount, at }) => `a loss (${reason}) of ${amount} nano-dollars: ${id} ${at.toISOString()}`);
}

function isExcused({ reason, at }: Loss, excuses: readonly Excuse[]): boolean {
  return excuses.some((excuse) => excuse.reason === reason && at >= excuse.from && at <= excuse.until);
}

function lossFigures(losses: readonly Loss[]): Record<string, number> {
  const figures: Record<string, number> = { lossRows: losses.length };
  for (const { reason, amount } of losses) {
    figures[`${reason} losses`] = (figures[`${reason} losses`] ?? 0) + 1;
    figures[`${reason} nano-dollars`] = (figures[`${reason} nano-dollars`] ?? 0) + Number(amount);
  }
  return figures;
}

async function lowestBalance(url: string): Promise<bigint> {
  const [row] = await select<{ lowest: string }>(
    url,
    'select min(balance_nano_usd)::text as lowest from ledger_entries',
  );
  return BigInt(row?.lowest ?? 0);
}

async function select<R extends object>(url: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(text)).rows;
  } finally {
    await client.end();
  }
}

async function reconcile(stack: Judged, provider: CountingProvider) {
  const folder = mkdtempSync(join(tmpdir(), 'gw-invoice-'));
  const file = join(folder, 'invoice.csv');
  try {
    writeFileSync(file, provider.csv());
    return await gateway(stack, ['costs', 'reconcile', file, '--json']);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the operator's command line as an operator would. */
async function gateway({ env }: Judged, args: readonly string[]): Promise<{ ok: boolean; json: unknown }> {
  const command = [join(REPOSITORY, 'operator/main.ts'), ...args];
  const options = { cwd: REPOSITORY, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
  return promisify(execFile)(process.execPath, command, options).then(
    ({ stdout }) => ({ ok: true, json: JSON.parse(stdout) as unknown }),
    (error: { stdout?: string; message: string }) => ({ ok: false, json: parsed(error.stdout) ?? error.message }),
  );
}

function parsed(text = ''): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
