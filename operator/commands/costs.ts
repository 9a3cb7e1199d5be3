import { countOf } from '#core/count-of.ts';
import { formatUsd, type NanoUsd, usdJson } from '#core/money.ts';
import { costReport, providerUsage } from '#database/costs/cost-reads.ts';
import { type CostRow, marginNanoUsd } from '#database/costs/costs.ts';
import { type Command, type CommandCall, onDatabase } from '../command-line/command.ts';
import { declaredHere } from '../command-line/database.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { type BilledUsage, readProviderBill } from './provider-bill.ts';
import { type Reconciliation, reconcile, type UnchargedTokens } from './reconciliation.ts';

const GROUPS = ['model', 'provider', 'organization'] as const;
/** Name of a row's subject with `--json`. */
const MEMBER = { model: 'model', provider: 'provider', organization: 'organization_id' } as const;

const report: Command = {
  name: 'costs report',
  summary: 'Add up revenue, cost, margin and losses, by model, provider or organization.',
  flags: [
    { name: 'since', value: 'ISO' },
    { name: 'until', value: 'ISO' },
    { name: 'by', value: 'model|provider|organization', required: true },
  ],
  run: (call) =>
    onDatabase(
      call,
      (values) => ({
        sinceMs: values.moment('since') ?? 0,
        untilMs: values.moment('until'),
        by: values.oneOf('by', GROUPS) ?? 'model',
      }),
      async (pool, { sinceMs, untilMs, by }) => {
        if (untilMs !== undefined && untilMs < sinceMs) return { kind: 'usage', message: '--until is before --since.' };
        const rows = await costReport(pool, { sinceMs, by, ...(untilMs === undefined ? {} : { untilMs }) });
        const json = rows.map((row) => ({ [MEMBER[by]]: row.subject, ...amountsOf(row) }));
        if (rows.length === 0) return { kind: 'done', json, text: 'Nothing was charged or lost.' };
        const head = [by.toUpperCase(), 'REQUESTS', 'REVENUE', 'COST', 'MARGIN', 'LOSSES', 'LIST'];
        return { kind: 'done', json, text: table([head, ...rows.map(lineOf)]) };
      },
    ),
};

function amountsOf(row: CostRow): object {
  const usdOrNull = (amount: NanoUsd | undefined) => (amount === undefined ? null : usdJson(amount));
  return {
    requests: row.requests,
    revenue: usdJson(row.revenueNanoUsd),
    cost: usdOrNull(row.costNanoUsd),
    margin: usdOrNull(marginNanoUsd(row)),
    losses: usdJson(row.lossesNanoUsd),
    list: usdJson(row.listNanoUsd),
  };
}

function lineOf(row: CostRow): readonly string[] {
  const usdOrNone = (amount: NanoUsd | undefined) => (amount === undefined ? '-' : formatUsd(amount));
  const { subject, requests, revenueNanoUsd, costNanoUsd, lossesNanoUsd, listNanoUsd } = row;
  const amounts = [revenueNanoUsd, costNanoUsd, marginNanoUsd(row), lossesNanoUsd, listNanoUsd].map(usdOrNone);
  return [subject, String(requests), ...amounts];
}

const reconciliation: Command = {
  name: 'costs reconcile',
  summary: "Compare a provider's count of tokens with the gateway's, charged and uncharged.",
  positionals: ['FILE'],
  flags: [{ name: 'provider', value: 'NAME' }],
  async run(call) {
    const bill = await readProviderBill(call.positionals[0] ?? '');
    if (!bill.ok) return refused(bill.problems.join('\n'));
    return onDatabase(
      call,
      (values) => values.name('provider'),
      async (pool, provider) => {
        const query = { ...extentOf(bill.usage), ...(provider === undefined ? {} : { provider }) };
        const usage = await providerUsage(pool, query);
        const problem = usage.length > 0 ? undefined : await providerProblem(provider, call);
        return problem ?? resultOf(reconcile(bill.usage, usage));
      },
    );
  },
};

/** A provider without usage may be a mistake, unless a model names it. */
async function providerProblem(provider: string | undefined, { env }: CommandCall): Promise<Result | undefined> {
  const models = provider !== undefined && (await declaredHere(env))?.models;
  if (!models) return undefined;
  const named = new Set(Object.values(models).flatMap(({ targets }) => targets.map((target) => target.provider)));
  if (named.has(provider)) return undefined;
  const names = [...named].join(', ') || 'none';
  return { kind: 'usage', message: `No model has a target at the provider ${provider}. The providers are: ${names}.` };
}

function extentOf(usage: readonly BilledUsage[]) {
  const days = usage.map(({ day }) => day);
  return {
    firstDay: days.reduce((first, day) => Math.min(first, day)),
    lastDay: days.reduce((last, day) => Math.max(last, day)),
    models: [...new Set(usage.map(({ model }) => model))],
  };
}

function resultOf({ compared, differences, uncharged }: Reconciliation): Result {
  const json = { ok: differences.length === 0, compared, differences, uncharged };
  const read = countOf(compared, 'day of a model', 'days of models');
  if (differences.length === 0) {
    return { kind: 'done', json, text: [`All agree within 1 %: ${read}.`, ...unchargedLines(uncharged)].join('\n') };
  }
  const rows = differences.flatMap(({ date, model, differs, uncharged: reasons, ...kinds }) =>
    differs.map((kind) => {
      const { provider, gateway, charged, counted } = kinds[kind];
      const why = Object.entries(reasons).flatMap(([reason, { [kind]: tokens }]) =>
        tokens > 0 ? [`${reason} ${tokens}`] : [],
      );
      return [date, model, kind, ...[provider, gateway, charged, counted].map(String), why.join(', ')];
    }),
  );
  const head = ['DATE', 'MODEL', 'KIND', 'PROVIDER', 'GATEWAY', 'CHARGED', 'COUNTED', 'UNCHARGED'];
  return {
    kind: 'refused',
    message: `Not everything agrees (${read}):\n${table([head, ...rows])}`,
    json,
    isReport: true,
  };
}

function unchargedLines(uncharged: UnchargedTokens): readonly string[] {
  const rows = Object.entries(uncharged).map(([reason, { calls, input_tokens, output_tokens }]) => [
    reason,
    ...[calls, input_tokens, output_tokens].map(String),
  ]);
  return rows.length === 0 ? [] : [table([['UNCHARGED', 'CALLS', 'INPUT TOKENS', 'OUTPUT TOKENS'], ...rows])];
}

export const COST_COMMANDS: readonly Command[] = [report, reconciliation];
