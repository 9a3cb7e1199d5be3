import { currentConfiguration } from '../../../database/process-reports/process-reports.ts';
import { type Problem, wrongField } from '../http/problem.ts';
import type { Deps } from '../route.ts';

/**
 * Only models that the gateway processes are configured with, or that the key has already. Disabled ones are among them: they may come
 * back. While no process has reported, nobody here knows what there is, and a key for an unknown model does no harm.
 */
export async function checkModels(
  { database }: Deps,
  models: readonly string[] | null | undefined,
  former: readonly string[] = [],
): Promise<Problem | undefined> {
  const added = models?.filter((id) => !former.includes(id)) ?? [];
  if (added.length === 0) return undefined;
  const configuration = await currentConfiguration(database);
  if (configuration === undefined) return undefined;
  const known = new Set(configuration.models.map(({ id }) => id));
  const unknown = added.find((id) => !known.has(id));
  return unknown === undefined ? undefined : wrongField('models', `There is no model “${unknown}”.`);
}
