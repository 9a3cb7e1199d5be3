import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import type { ModelView } from '#contract/money.ts';
import { MAX_PLAY_TOKENS } from '#contract/playground.ts';
import { Field } from '../../forms/field.tsx';
import { FormRow } from '../../forms/form.tsx';
import { NumberInput, ParsedInput } from '../../forms/number-inputs.tsx';
import { Select } from '../../forms/select.tsx';
import { TextArea } from '../../forms/text-input.tsx';
import { hasEnded, maskedKey, restrictionLabels } from '../../keys/key-labels.ts';
import { MODEL_STATES } from '../../models/model-labels.ts';

/** Values of the form. `undefined`: the box is empty. */
export interface PlayDraft {
  readonly system: string;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
}

export const NEW_PLAY: PlayDraft = { system: '', maxTokens: 1_000, temperature: undefined };

export interface PlaySettingsProps {
  readonly models: readonly ModelView[];
  readonly keys: readonly KeyView[];
  readonly model: string;
  readonly likeKey: string | undefined;
  readonly draft: PlayDraft;
  readonly onModel: (model: string) => void;
  readonly onLikeKey: (key: string | undefined) => void;
  readonly onDraft: (draft: PlayDraft) => void;
}

export function PlaySettings(props: PlaySettingsProps): ReactNode {
  const { models, model, draft, onModel, onDraft } = props;
  return (
    <>
      <Field label="Model" required>
        <Select value={model} onChange={onModel} choices={models.map(choiceOf)} />
      </Field>
      <KeyField {...props} />
      <Field label="System message" hint="Sent before the conversation.">
        <TextArea value={draft.system} onChange={(system) => onDraft({ ...draft, system })} />
      </Field>
      <FormRow>
        <Field label="Output limit" required hint="max_tokens. The money for it is held while the request runs.">
          <NumberInput
            value={draft.maxTokens}
            onChange={(maxTokens) => onDraft({ ...draft, maxTokens })}
            min={1}
            max={MAX_PLAY_TOKENS}
          />
        </Field>
        <Field label="Temperature" hint="From 0 to 2.">
          <ParsedInput
            value={draft.temperature}
            onChange={(temperature) => onDraft({ ...draft, temperature })}
            parse={parseTemperature}
            format={String}
            inputMode="decimal"
            placeholder="Of the model"
          />
        </Field>
      </FormRow>
    </>
  );
}

/** Restrictions that the key of a play takes over. */
function holdingRestrictions({
  monthlyBudgetNanoUsd: _month,
  lifetimeBudgetNanoUsd: _lifetime,
  expiresAtMs: _end,
  ...key
}: KeyView): readonly string[] {
  return restrictionLabels({ ...key, ipRanges: [] }, Date.now());
}

/** The restrictions of one of the organization's keys, so that its errors can be seen here. */
function KeyField({ keys, likeKey, onLikeKey }: PlaySettingsProps): ReactNode {
  const key = keys.find(({ id }) => id === likeKey);
  const words = key && holdingRestrictions(key).join(' · ');
  return (
    <Field
      label="Restrictions of a key"
      hint={
        key === undefined
          ? 'The request has a key of its own in any case.'
          : `${words || 'This key has none'}. Its addresses, expiry, longer budgets and spend do not count here.`
      }
    >
      <Select
        value={likeKey ?? ''}
        onChange={(value) => onLikeKey(value === '' ? undefined : value)}
        choices={[
          { value: '', label: 'None' },
          ...keys
            .filter((one) => !hasEnded(one))
            .map((one) => ({ value: one.id, label: `As ${one.name} (${maskedKey(one)})` })),
        ]}
      />
    </Field>
  );
}

function choiceOf({ id, state }: ModelView): { value: string; label: string } {
  return { value: id, label: state === 'available' ? id : `${id} (${MODEL_STATES[state].text.toLowerCase()})` };
}

function parseTemperature(text: string): { readonly value: number } | { readonly problem: string } {
  const value = /^\d(\.\d{1,4})?$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 2 ? { value } : { problem: 'Enter a number from 0 to 2, such as 0.7.' };
}
