import type { ModelView } from '#contract/money.ts';
import { formatPricePerMillion } from '../format/format-money.ts';

export const ABILITIES = ['tools', 'vision', 'json_mode', 'files', 'reasoning'] as const;
/** A capability, or `reasoning`: the model accepts a reasoning effort. */
export type Ability = (typeof ABILITIES)[number];

export const ABILITY_LABELS: Readonly<Record<Ability, string>> = {
  tools: 'Tools',
  vision: 'Vision',
  json_mode: 'JSON mode',
  files: 'Files',
  reasoning: 'Reasoning',
};

/** Capabilities of a later gateway keep their own name. */
export function capabilityLabel(capability: string): string {
  return capability in ABILITY_LABELS ? ABILITY_LABELS[capability as Ability] : capability;
}

/** `$0.25 in, $2.00 out` per million tokens. */
function priceLabel({ priceTable: { prices } }: Pick<ModelView, 'priceTable'>): string {
  const { inputPicoUsd, outputPicoUsd } = prices;
  return `${formatPricePerMillion(inputPicoUsd)} in, ${formatPricePerMillion(outputPicoUsd)} out`;
}

export const MODEL_STATES = {
  available: { tone: 'good', text: 'Available', means: undefined },
  disabled: { tone: 'neutral', text: 'Disabled', means: 'Requests for it are refused with model_not_found.' },
  misconfigured: {
    tone: 'warn',
    text: 'Unavailable',
    means: 'Requests for it get upstream_config_error until the operator repairs its mapping.',
  },
} as const satisfies Record<ModelView['state'], { tone: string; text: string; means: string | undefined }>;

/** A choice in the list of a key's models. */
export function modelChoice(model: ModelView): { value: string; label: string; detail: string } {
  const { text } = MODEL_STATES[model.state];
  const words = [
    ...(model.state === 'available' ? [] : [text]),
    ...model.capabilities.map(capabilityLabel),
    priceLabel(model),
  ];
  return { value: model.id, label: model.id, detail: words.join(' · ') };
}
