import type { DeclaredModels } from '#core/config/load.ts';
import { countOf } from '#core/count-of.ts';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import type { Difference } from '#core/model-catalogue/comparison.ts';
import { ageInWords, compareModels, disputeInWords } from '#core/model-catalogue/model-differences.ts';
import { type Finding, ok, problem, warning } from './check.ts';

/** Compares the models with the release's catalogue, like `models check`. */
export async function lookAtModels(declared: DeclaredModels, nowMs: number): Promise<readonly Finding[]> {
  const catalogue = await shippedCatalogue();
  const { differences, disputed } = compareModels(declared, catalogue, nowMs);
  const age = ageInWords(catalogue, nowMs);
  const notes = [
    ...disputed.map((one) => ok('models', disputeInWords(one))),
    ...(age === undefined ? [] : [warning('models', age, 'Upgrade to a release with a newer one.')]),
  ];
  if (differences.length === 0)
    return [ok('models', `no differences from the model catalogue of ${catalogue.as_of}`), ...notes];
  const byModel = Map.groupBy(differences, ({ model }) => model);
  const findings = [...byModel].flatMap(([model, found]) => {
    const shutdowns = found.filter(({ field }) => field === 'shutdown_date');
    const changes = found.filter(({ field }) => field.includes('.from.'));
    const others = found.filter((one) => !shutdowns.includes(one) && !changes.includes(one));
    return [
      ...shutdowns.map((one) => shutdownFinding(one, nowMs)),
      ...(changes.length === 0 ? [] : [differenceFinding(problem, model, changes)]),
      ...(others.length === 0 ? [] : [differenceFinding(warning, model, others)]),
    ];
  });
  return [...findings, ...notes];
}

function shutdownFinding({ model, catalogue }: Difference, nowMs: number): Finding {
  const isOver = Date.parse(String(catalogue)) <= nowMs;
  const found = `${model} ${isOver ? 'has been' : 'will be'} shut down by its provider on ${catalogue}`;
  return warning('models', found, 'Give it another target; models catalogue lists what can be imported.');
}

function differenceFinding(as: typeof warning, model: string, [first, ...others]: readonly Difference[]): Finding {
  const more = others.length === 0 ? '' : `, and ${countOf(others.length, 'more difference')}`;
  const found = `${model}: ${first?.field} is ${first?.configured ?? 'missing'}, the model catalogue has ${first?.catalogue}${more}`;
  return as('models', found, 'Run models check for all of them, and correct the configuration.');
}
