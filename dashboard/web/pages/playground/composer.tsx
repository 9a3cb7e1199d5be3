import { type KeyboardEvent, type ReactNode, useRef } from 'react';
import { Button } from '../../components/button.tsx';
import { Field } from '../../forms/field.tsx';
import { TextArea } from '../../forms/text-input.tsx';
import styles from './playground.module.css';

export interface ComposerProps {
  readonly busy: boolean;
  readonly onStop: () => void;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** Enter sends and Escape stops, so that nobody needs the mouse. */
export function Composer({ busy, onStop, text, onText }: ComposerProps): ReactNode {
  const box = useRef<HTMLTextAreaElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && busy) onStop();
    // A word that an input method composes is not finished with it.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!busy) box.current?.form?.requestSubmit();
  };
  const stop = () => {
    onStop();
    // The focused button is about to go.
    box.current?.focus();
  };
  return (
    <div className={styles.composer}>
      <Field label="Message" required hint="Enter sends, Shift and Enter begin a new line, Escape stops.">
        <TextArea ref={box} value={text} onChange={onText} onKeyDown={onKeyDown} />
      </Field>
      {busy ? (
        <Button icon="pause" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button type="submit" tone="primary" icon="play">
          Send
        </Button>
      )}
    </div>
  );
}
