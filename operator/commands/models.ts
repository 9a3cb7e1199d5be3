import { embeds, outputOf } from '#core/config/embeddings-models.ts';
import type { CheckedConfig } from '#core/config/gateway-config.ts';
import type { Environment, LoadedConfig } from '#core/config/load.ts';
import { formatDuration } from '#core/config/quantities.ts';
import { shapingJson } from '#core/config/request-shaping.ts';
import { configPath } from '#core/config/runtime-paths.ts';
import type { TargetEntry } from '#core/config/schema.ts';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import type { CatalogueSchedule } from '#core/model-catalogue/catalogue-model.ts';
import { type ConfiguredModel, configuredModels, usdSchedule } from '#core/model-catalogue/configured-model.ts';
import { ageInWords, compareModels, disputeInWords } from '#core/model-catalogue/model-differences.ts';
import { pricesInWords } from '#core/model-catalogue/price-differences.ts';
import { periodInForce } from '#core/model-catalogue/schedule-differences.ts';
import { present } from '#core/present.ts';
import type { Command } from '../command-line/command.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { MODELS_IMPORT } from './models-import.ts';

const list: Command = {
  name: 'models list',
  summary: 'Show the models of the configuration with their targets.',
  run: ({ env }) =>
    onConfiguration(env, async ({ declared, config }) => {
      const models = configuredModels(declared);
      const problemOf = ({ id }: ConfiguredModel) => config.models.get(id)?.problem;
      const rows = models.map((model) => [
        model.id,
        ...priceCells(usdSchedule(model.usd_per_million_tokens)),
        model.disabled ? 'disabled' : (problemOf(model) ?? 'usable'),
        model.targets.map(targetInWords).join(', '),
      ]);
      const head = ['ID', 'INPUT', 'OUTPUT', 'STATE', 'TARGETS'];
      const changes = models.flatMap((model) => changeLines(model.id, usdSchedule(model.usd_per_million_tokens)));
      const text = rows.length === 0 ? 'There are no models.' : [table([head, ...rows]), ...changes].join('\n');
      return { kind: 'done', json: models.map((model) => modelJson(model, problemOf(model))), text };
    }),
};

const catalogue: Command = {
  name: 'models catalogue',
  summary: 'Show the models that can be imported; with TEXT, those whose id contains TEXT.',
  positionals: ['[TEXT]'],
  async run({ positionals }) {
    const [text = ''] = positionals;
    const { as_of, models } = await shippedCatalogue();
    const found = models.filter(({ id }) => id.toLowerCase().includes(text.toLowerCase()));
    const rows = found.map((model) => [
      model.id,
      ...priceCells(model.usd_per_million_tokens),
      String(model.context_window),
      String(model.max_output_tokens),
      model.shutdown_date ?? '-',
    ]);
    const head = ['ID', 'INPUT', 'OUTPUT', 'WINDOW', 'MAX OUTPUT', 'SHUTDOWN'];
    const shown = found.length === 0 ? 'There is no such model.' : table([head, ...rows]);
    const title = `As of ${as_of}. Prices in USD per million tokens.`;
    const changes = found.flatMap((model) => changeLines(model.id, model.usd_per_million_tokens));
    return { kind: 'done', json: { as_of, models: found }, text: [title, shown, ...changes].join('\n') };
  },
};

const check: Command = {
  name: 'models check',
  summary: 'Compare the models of the configuration with the catalogue.',
  run: ({ env }) =>
    onConfiguration(env, async ({ declared }) => {
      const shipped = await shippedCatalogue();
      const nowMs = Date.now();
      const { differences, disputed } = compareModels(declared, shipped, nowMs);
      const { as_of } = shipped;
      const json = { ok: differences.length === 0, as_of, differences, disputed };
      const age = ageInWords(shipped, nowMs);
      const notes = [...disputed.map(disputeInWords), ...(age === undefined ? [] : [`Note: ${age}.`])];
      if (json.ok) {
        const text = [`There are no differences from the catalogue of ${as_of}.`, ...notes].join('\n');
        return { kind: 'done', json, text };
      }
      const rows = differences.map(({ model, field, configured, catalogue: expected }) => [
        ...[model, field, String(configured ?? '-'), String(expected)],
      ]);
      const head = ['MODEL', 'FIELD', 'CONFIGURED', 'CATALOGUE'];
      const message = [`Catalogue of ${as_of}:`, table([head, ...rows]), ...notes].join('\n');
      return { kind: 'refused', json, message, isReport: true };
    }),
};

export const MODEL_COMMANDS: readonly Command[] = [list, catalogue, MODELS_IMPORT, check];

async function onConfiguration(
  env: Environment,
  use: (loaded: LoadedConfig<CheckedConfig>) => Promise<Result>,
): Promise<Result> {
  const { loadConfig } = await import('#core/config/load.ts');
  const { formatProblem } = await import('#core/config/problem.ts');
  const loaded = await loadConfig(configPath(env), env, { secrets: 'checked' });
  if (!loaded.ok) return refused(loaded.problems.map(formatProblem).join('\n'));
  return use(loaded);
}

function targetInWords({ provider, model, weight }: TargetEntry): string {
  return `${provider}: ${model}${weight === undefined ? '' : ` (weight ${weight})`}`;
}

function modelJson(model: ConfiguredModel, problem: string | undefined): object {
  const { id, targets, usd_per_million_tokens: prices, ...rest } = model;
  const { maxOutputTokens: max_output_tokens, defaultOutputTokens: default_output_tokens } = outputOf(model);
  const output = { max_output_tokens, default_output_tokens };
  const timeouts = Object.entries(present(rest.timeouts)).map(([name, ms]) => [name, formatDuration(ms)]);
  return present({
    id,
    targets: targets.map(targetJson),
    ...rest,
    ...(embeds(model) ? { max_output_tokens: undefined, default_output_tokens: undefined } : output),
    usd_per_million_tokens: usdSchedule(prices),
    timeouts: timeouts.length === 0 ? undefined : Object.fromEntries(timeouts),
    problem,
  });
}

function targetJson({ cost_usd_per_million_tokens: cost, request, ...target }: TargetEntry): object {
  return present({
    ...target,
    cost_usd_per_million_tokens: cost && usdSchedule(cost),
    request: request && shapingJson(request),
  });
}

function priceCells(schedule: CatalogueSchedule): readonly string[] {
  const { input, output } = periodInForce(schedule, Date.now());
  return [String(input), String(output)];
}

/** Prices at other days and hours, one line each. */
function changeLines(id: string, schedule: CatalogueSchedule): readonly string[] {
  const nowMs = Date.now();
  const { hours = [] } = periodInForce(schedule, nowMs);
  const later = Object.entries(schedule.from ?? {}).filter(([from]) => Date.parse(from) > nowMs);
  return [
    ...hours.map((window) => {
      const { utc, days = [], except = [] } = window;
      const on = [...days, ...except.map((day) => `not ${day}`)].join(', ');
      return `${id}, ${utc} UTC${on === '' ? '' : ` (${on})`}: ${pricesInWords(window)}`;
    }),
    ...later.map(([from, table]) => `${id}, from ${from}: ${pricesInWords(table)}`),
  ];
}
