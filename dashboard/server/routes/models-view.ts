import type { ReportedModel } from '../../../database/process-reports/report.ts';
import type { ModelView } from '../../contract/money.ts';

/** A model as customers see it: that its mapping cannot work is no secret, why is. */
export function modelView({ prices, disabled, problem, ...model }: ReportedModel): ModelView {
  const { id, capabilities, reasoningEfforts, contextWindow, maxOutputTokens, defaultOutputTokens } = model;
  return {
    id,
    capabilities,
    reasoningEfforts,
    contextWindow,
    maxOutputTokens,
    defaultOutputTokens,
    ...prices,
    state: disabled ? 'disabled' : problem === null ? 'available' : 'misconfigured',
  };
}
