import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import type { ModelView } from '#contract/money.ts';
import { MAX_PLAY_TOKENS } from '#contract/playground.ts';
import { serverMs } from '../../api/server-clock.ts';
import { OptionalSelectField, SelectField } from '../../forms/choices.tsx';
import { asField, fieldsOf } from '../../forms/field.tsx';
import { FormRow } from '../../forms/form.tsx';
import { NumberField, ParsedInput, TextAreaField } from '../../forms/inputs.tsx';
import { hasEnded, keyChoice, restrictionLabels } from '../../keys/key-labels.ts';
import { MODEL_STATES } from '../../models/model-labels.ts';
import type { Url } from '../../search/use-url.ts';
import type { PlaygroundState } from '../searches.ts';
import { type PlayDraft, toolsIn } from './play-draft.ts';

export interface PlaySettingsProps {
  readonly models: readonly ModelView[];
  readonly keys: readonly KeyView[];
  /** The chosen model, and the second one if there is one. */
  readonly asked: readonly ModelView[];
  readonly likeKey: string | undefined;
  readonly draft: PlayDraft;
  readonly onDraft: (draft: PlayDraft) => void;
  readonly change: Url<PlaygroundState>['change'];
}

const TemperatureField = asField(ParsedInput<number>);
const TOOLS_EXAMPLE = '[{"type": "function", "function": {"name": "get_weather", "parameters": {…}}}]';

export function PlaySettings(props: PlaySettingsProps): ReactNode {
  const { models, asked, draft, onDraft, change } = props;
  const [first, beside] = asked;
  const field = fieldsOf(draft, onDraft);
  const others = models.filter(({ id }) => id !== first?.id).map(choiceOf);
  const efforts = [...new Set(asked.flatMap(({ reasoningEfforts }) => reasoningEfforts))];
  return (
    <>
      <SelectField
        label="Model"
        required
        value={first?.id ?? ''}
        onChange={(model) => change({ model })}
        choices={models.map(choiceOf)}
      />
      <OptionalSelectField
        label="Compare with"
        value={beside?.id}
        onChange={(id) => change({ beside: id })}
        none="No other model"
        choices={others}
      />
      <TextAreaField label="System message" hint="Sent before the conversation." {...field('system')} />
      <FormRow>
        <NumberField
          label="Output limit"
          required
          hint="In tokens (max_tokens). Its cost is held while the request runs."
          {...field('maxTokens')}
          min={1}
          max={MAX_PLAY_TOKENS}
        />
        {asked.some(({ takesTemperature }) => takesTemperature) && (
          <TemperatureField
            label="Temperature"
            hint="From 0 to 2."
            {...field('temperature')}
            parse={parseTemperature}
            format={String}
            inputMode="decimal"
            placeholder="Model default"
          />
        )}
      </FormRow>
      {efforts.length > 0 && (
        <SelectField
          label="Reasoning effort"
          {...field('effort')}
          choices={[{ value: '', label: 'Model default' }, ...efforts.map((value) => ({ value, label: value }))]}
        />
      )}
      {asked.some(({ capabilities }) => capabilities.includes('tools')) && (
        <TextAreaField
          label="Tools"
          hint="A JSON list. When the model calls one, your next message is its result."
          rows={2}
          placeholder={TOOLS_EXAMPLE}
          {...field('tools')}
          error={toolsIn(draft.tools).problem}
        />
      )}
      <KeyField {...props} />
    </>
  );
}

/** Restrictions of a key that also apply to plays with it. */
function holdingRestrictions({
  monthlyBudgetNanoUsd: _month,
  lifetimeBudgetNanoUsd: _lifetime,
  expiresAtMs: _end,
  ...key
}: KeyView): readonly string[] {
  return restrictionLabels({ ...key, ipRanges: [] }, serverMs());
}

/** Chooses a key whose restrictions apply, so that its errors can be tried out. */
function KeyField({ keys, likeKey, change }: PlaySettingsProps): ReactNode {
  const key = keys.find(({ id }) => id === likeKey);
  const words = key && holdingRestrictions(key).join(' · ');
  return (
    <OptionalSelectField
      label="Act as key"
      hint={
        key === undefined
          ? 'Applies the restrictions of one of your keys.'
          : `${words || 'No restrictions'}. Addresses, expiry, longer budgets and spend of the key do not apply here.`
      }
      value={likeKey}
      onChange={(id) => change({ key: id })}
      none="No key"
      choices={keys.filter((one) => !hasEnded(one)).map(keyChoice)}
    />
  );
}

function choiceOf({ id, state }: ModelView): { value: string; label: string } {
  return { value: id, label: state === 'available' ? id : `${id} (${MODEL_STATES[state].text.toLowerCase()})` };
}

function parseTemperature(text: string): { readonly value: number } | { readonly problem: string } {
  const value = /^\d(\.\d{1,4})?$/.test(text) ? Number(text) : Number.NaN;
  return value >= 0 && value <= 2 ? { value } : { problem: 'Enter a number from 0 to 2, such as 0.7.' };
}
