/*
 * The confirmation window. It speaks over one port with the worker that opened it, and ends with it: when the port
 * closes, the question is over and so is this window. Closing the window is a no.
 */
import { useEffect, useState } from 'react';
import { Speaking, useWords } from '../../ui/i18n';
import { CONFIRM_PORT, ConfirmHears, type ConfirmSays } from '../../ui/messages';
import { mount } from '../../ui/page';
import { QuestionView } from '../../ui/parts/question';
import { useTheme } from '../../ui/theme';

type Heard = Extract<ConfirmHears, { hear: 'question' }>;

function Confirm({ id, port }: { id: string; port: chrome.runtime.Port }) {
  const [heard, setHeard] = useState<Heard | 'over' | null>(null);
  useEffect(() => {
    const hear = (message: unknown) => {
      const read = ConfirmHears.safeParse(message);
      setHeard(read.success && read.data.hear === 'question' ? read.data : 'over');
    };
    const end = () => {
      setHeard('over');
      window.close();
    };
    port.onMessage.addListener(hear);
    port.onDisconnect.addListener(end);
    port.postMessage({ say: 'ready', id } satisfies ConfirmSays);
    return () => {
      port.onMessage.removeListener(hear);
      port.onDisconnect.removeListener(end);
    };
  }, [id, port]);
  const question = heard === 'over' ? null : heard;
  useTheme(question?.theme);
  const answer = (say: 'allowed' | 'denied') => port.postMessage({ say, id } satisfies ConfirmSays);
  return (
    <Speaking language={question?.language ?? 'auto'}>
      {question !== null && <QuestionView question={question.question} answer={answer} />}
      {heard === 'over' && <Over />}
    </Speaking>
  );
}

function Over() {
  const say = useWords();
  return (
    <main className="quiet" role="status">
      {say('confirm.over')}
    </main>
  );
}

const id = new URLSearchParams(location.search).get('id') ?? '';
mount(<Confirm id={id} port={chrome.runtime.connect({ name: CONFIRM_PORT })} />);
