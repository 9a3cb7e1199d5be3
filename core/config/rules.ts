import { formatAddress, overlap } from './network-names.ts';
import type { RuleProblem } from './problem.ts';
import { checkCallFields } from './provider-fields.ts';
import type { RightParts } from './right-parts.ts';
import type { ModelEntry, ProviderEntry } from './schema.ts';
import type { Path } from './yaml-tree.ts';

/** Rules between fields that are each valid by themselves. */
export function checkRules(file: RightParts): RuleProblem[] {
  return [
    ...checkPorts(file),
    ...checkWorkers(file),
    ...Object.entries(file.providers).flatMap(([name, provider]) => checkProvider(['providers', name], provider)),
    ...Object.entries(file.models).flatMap(([id, model]) => checkModel(['models', id], model)),
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

/** Processes that share no limit store would each grant the whole limit. */
function checkWorkers({ workers = 1, stores }: RightParts): RuleProblem[] {
  if (workers === 1 || stores?.redis !== 'memory') return [];
  return [
    { path: ['workers'], message: 'must be 1 while stores.redis is memory; more need a redis:// or rediss:// URL' },
  ];
}

/**
 * Rejects the URL of the endpoint itself, which providers show in examples: every request would get
 * 404.
 */
function checkProvider(path: Path, provider: ProviderEntry): RuleProblem[] {
  const problems = checkCallFields(path, provider);
  if (provider.base_url.pathname.endsWith('/chat/completions')) {
    const message = 'must end before /chat/completions, which is put behind it';
    problems.push({ path: [...path, 'base_url'], message });
  }
  return problems;
}

function checkModel(path: Path, model: ModelEntry): RuleProblem[] {
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
  for (const field of ['capabilities', 'reasoning_efforts'] as const) {
    const values: readonly string[] = model[field];
    values.forEach((value, index) => {
      if (values.indexOf(value) < index)
        problems.push({ path: [...path, field, index], message: 'is listed twice; keep one' });
    });
  }
  return problems;
}
