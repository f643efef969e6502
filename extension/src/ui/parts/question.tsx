/*
 * A question and its two answers. Allow stands in another place each time and works only for input that the guard counts
 * as the person's own; nothing is focused that Enter could press. Text that page or program chose is shown as one plain
 * line. The value that would be filled in is not known here.
 */
import { useEffect, useId, useRef, useState } from 'react';
import { classify } from '../../gate/origin';
import { useWords } from '../i18n';
import type { Question } from '../messages';
import { address, isInternational, oneLine } from '../shown';
import { ClientName } from './connection';
import { useGuard } from './guarded';

/** Places in which Allow may stand: three columns in two rows; the first is where the other answer stands. */
const PLACES = 6;

export function QuestionView({
  question,
  answer,
}: {
  question: Question;
  answer: (say: 'allowed' | 'denied') => void;
}) {
  const say = useWords();
  const title = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <main role="alertdialog" aria-labelledby={title} aria-describedby="detail">
      <h1 id={title} tabIndex={-1} ref={heading}>
        {say('confirm.title')}
      </h1>
      <Detail question={question} />
      <Answers question={question} answer={answer} />
    </main>
  );
}

function Detail({ question: { kind, sends, origin, client, element, destination, op } }: { question: Question }) {
  const say = useWords();
  return (
    <dl id="detail" data-testid="confirm-detail">
      <dt>{say('confirm.client')}</dt>
      <dd>
        <ClientName client={client} />
        {!client.verified && <p className="quiet">{say('confirm.unverified_hint')}</p>}
      </dd>
      <dt>{say('confirm.act')}</dt>
      <dd>
        <strong>
          {say(`acts.${kind}`)} {sends && say('confirm.sends')}
        </strong>{' '}
        <span className="quiet">({say(`tools.${op}`)})</span>
      </dd>
      <dt>{say('confirm.site')}</dt>
      <dd>
        <span className="origin large">
          <bdi>{oneLine(origin, 300)}</bdi>
        </span>
        {isInternational(origin) && <p className="quiet">{say('site.international')}</p>}
      </dd>
      {element !== null && (
        <>
          <dt>{say('confirm.element')}</dt>
          <dd>
            <bdi className="name">{oneLine(element.name, 160) || say('roles.unnamed')}</bdi>{' '}
            <span className="quiet">{oneLine(element.role, 40)}</span>
          </dd>
        </>
      )}
      {destination !== null && (
        <>
          <dt>{say('confirm.destination')}</dt>
          <dd>
            <Destination text={destination} from={origin} />
          </dd>
        </>
      )}
    </dl>
  );
}

function Destination({ text, from }: { text: string; from: string }) {
  const say = useWords();
  const { origin, rest } = address(text, 300);
  const site = classify(text);
  const elsewhere = site.kind !== 'web' || site.origin !== from;
  return (
    <span className="address">
      {elsewhere && <span className="tag warn">{say('confirm.elsewhere')}</span>}{' '}
      <bdi>
        <span className="origin">{origin}</span>
        {rest}
      </bdi>
    </span>
  );
}

function Answers({ question, answer }: { question: Question; answer: (say: 'allowed' | 'denied') => void }) {
  const say = useWords();
  const [place] = useState(() => 1 + ((crypto.getRandomValues(new Uint8Array(1))[0] ?? 0) % (PLACES - 1)));
  const { live, allow } = useGuard(() => answer('allowed'));
  const seconds = useCountdown(question.leftMs);
  const deny = (event: { nativeEvent: Event }) => {
    if (event.nativeEvent.isTrusted) answer('denied');
  };
  useEscape(() => answer('denied'));
  return (
    <>
      <div className="answers">
        <button type="button" className="deny" data-testid="confirm-deny" onClick={deny}>
          {say('confirm.deny')}
        </button>
        <button
          type="button"
          className={`allow place-${place}`}
          data-testid="confirm-allow"
          aria-disabled={!live}
          aria-describedby="guard"
          ref={allow}
        >
          {say('confirm.allow')}
        </button>
      </div>
      <div className="notes quiet">
        <p id="guard">{say('confirm.guard')}</p>
        {question.op !== 'tab_close' && !question.sends && <p>{say('confirm.once')}</p>}
        <p>{say('confirm.left', { seconds })}</p>
      </div>
    </>
  );
}

function useCountdown(leftMs: number): number {
  const [until] = useState(() => Date.now() + leftMs);
  const [left, setLeft] = useState(leftMs);
  useEffect(() => {
    const timer = setInterval(() => setLeft(Math.max(0, until - Date.now())), 1_000);
    return () => clearInterval(timer);
  }, [until]);
  return Math.ceil(left / 1_000);
}

function useEscape(act: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.isTrusted && event.key === 'Escape') act();
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  });
}
