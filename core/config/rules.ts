import { checkEmbeddings, embeds } from './embeddings-models.ts';
import { checkExtraFields } from './extra-fields.ts';
import { checkMail } from './mail.ts';
import { formatAddress, overlap } from './network-names.ts';
import { checkPayments } from './payments.ts';
import { checkPriceLists } from './price-lists.ts';
import { checkPriceSchedule } from './price-schedule.ts';
import type { RuleProblem } from './problem.ts';
import { checkPlace } from './provider-endpoints.ts';
import { checkCallFields } from './provider-fields.ts';
import { checkShaping, effortsWithTools } from './request-shaping.ts';
import type { RightParts } from './right-parts.ts';
import type { ModelEntry, ProviderEntry } from './schema.ts';
import { checkSignIn } from './sign-in.ts';
import type { Path } from './yaml-tree.ts';

/** Rules between fields that are each valid by themselves. */
export function checkRules(file: RightParts): RuleProblem[] {
  const declared = file.extra_request_fields && new Set(Object.keys(file.extra_request_fields));
  return [
    ...checkPorts(file),
    ...checkWorkers(file),
    ...checkMail(file.mail),
    ...checkSignIn(file.sign_in),
    ...checkPayments(file.payments),
    ...checkPriceLists(file.price_lists, file.models),
    ...Object.entries(file.providers).flatMap(([name, provider]) => [
      ...checkProvider(['providers', name], provider),
      ...checkExtraFields(['providers', name], provider, declared),
    ]),
    ...Object.entries(file.models).flatMap(([id, model]) => [
      ...checkModel(['models', id], model),
      ...(embeds(model) ? [] : checkOutput(['models', id], model)),
      ...checkEmbeddings(['models', id], model, file.providers),
      ...checkTargetShaping(['models', id], model, file.providers),
      ...checkToolEffort(['models', id], model, file.providers),
      ...checkBudgets(['models', id], model, file.providers),
    ]),
  ];
}

function checkPorts({ listen }: RightParts): RuleProblem[] {
  if (listen === undefined) return [];
  const addresses = [
    ['api', listen.api],
    ['dashboard', listen.dashboard],
    ['metrics', listen.metrics],
  ] as const;
  return addresses.flatMap(([name, address], index) =>
    addresses
      .slice(0, index)
      .filter(([, other]) => overlap(address, other))
      .map(([otherName, other]) => ({
        path: ['listen', name],
        message: `is taken by listen.${otherName} (${formatAddress(other)}); give each its own port`,
      })),
  );
}

/** Processes without a shared limit store would each grant the whole limit. */
function checkWorkers({ workers = 1, stores }: RightParts): RuleProblem[] {
  if (workers === 1 || stores?.redis.kind !== 'memory') return [];
  return [
    { path: ['workers'], message: 'must be 1 while stores.redis is memory; more need a redis:// or rediss:// URL' },
  ];
}

function checkProvider(path: Path, provider: ProviderEntry): RuleProblem[] {
  const { api, reasoning_memory } = provider;
  const problems = [
    ...checkPlace(path, provider),
    ...checkCallFields(path, provider),
    ...checkShaping([...path, 'request'], provider.request, provider.output_limit_field),
  ];
  if (reasoning_memory !== undefined && api !== 'chat') {
    const message = 'is for providers with api: chat; the reasoning of others is always kept';
    problems.push({ path: [...path, 'reasoning_memory'], message });
  }
  return problems;
}

/** Budgets at a target that would ignore them are a mistake. */
function checkBudgets(path: Path, { targets }: ModelEntry, providers: RightParts['providers']): RuleProblem[] {
  return targets.flatMap(({ provider, api = providers[provider]?.api, reasoning_budgets: budgets }, index) =>
    budgets === undefined || api === undefined || api === 'anthropic'
      ? []
      : [
          {
            path: [...path, 'targets', index, 'reasoning_budgets'],
            message: 'is for targets with api: anthropic; others take reasoning_effort',
          },
        ],
  );
}

function checkTargetShaping(path: Path, { targets }: ModelEntry, providers: RightParts['providers']): RuleProblem[] {
  return targets.flatMap(({ provider, request }, index) =>
    checkShaping([...path, 'targets', index, 'request'], request, providers[provider]?.output_limit_field),
  );
}

/** A provider refuses each request with tools whose effort its model does not accept. */
function checkToolEffort(path: Path, model: ModelEntry, providers: RightParts['providers']): RuleProblem[] {
  if (!model.capabilities.includes('tools')) return [];
  return model.targets.flatMap(({ provider, request }, index) => {
    const efforts = effortsWithTools(providers[provider]?.request, request);
    if (efforts.every((effort) => model.reasoning_efforts.includes(effort))) return [];
    const message = `set_with_tools sends a reasoning effort that is not in the model's reasoning_efforts`;
    return [{ path: [...path, 'targets', index], message }];
  });
}

function checkModel(path: Path, model: ModelEntry): RuleProblem[] {
  const problems = [
    ...checkPriceSchedule([...path, 'usd_per_million_tokens'], model.usd_per_million_tokens),
    ...model.targets.flatMap(({ cost_usd_per_million_tokens: cost }, index) =>
      cost === undefined ? [] : checkPriceSchedule([...path, 'targets', index, 'cost_usd_per_million_tokens'], cost),
    ),
  ];
  if (model.longest_prompt !== undefined && model.longest_prompt < model.context_window) {
    problems.push({
      path: [...path, 'longest_prompt'],
      message: `must be at least context_window (${model.context_window})`,
    });
  }
  for (const field of ['capabilities', 'reasoning_efforts'] as const) {
    const values: readonly string[] = model[field];
    values.forEach((value, index) => {
      if (values.indexOf(value) < index)
        problems.push({ path: [...path, field, index], message: 'is listed twice; keep one' });
    });
  }
  return problems;
}

function checkOutput(path: Path, model: ModelEntry): RuleProblem[] {
  const problems: RuleProblem[] = [];
  if (model.max_output_tokens > model.context_window) {
    problems.push({
      path: [...path, 'max_output_tokens'],
      message: `must be at most context_window (${model.context_window})`,
    });
  }
  if ((model.default_output_tokens ?? 0) > model.max_output_tokens) {
    problems.push({
      path: [...path, 'default_output_tokens'],
      message: `must be at most max_output_tokens (${model.max_output_tokens})`,
    });
  }
  return problems;
}
