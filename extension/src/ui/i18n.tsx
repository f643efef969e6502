/*
 * Decides in which language the pages speak, and fills sentences. A key without a sentence shows as the key, so that a
 * mistake is seen; a test keeps the three languages complete. Text put into a sentence is text, never markup.
 */
import { createContext, type ReactNode, useContext } from 'react';
import en from '../locales/en.yml';
import zhCN from '../locales/zh_CN.yml';
import zhTW from '../locales/zh_TW.yml';
import type { Language } from './messages';

export type Words = (key: string, values?: Record<string, string | number>) => string;
type Written = Exclude<Language, 'auto'>;

const SENTENCES: Record<Written, Record<string, Record<string, string>>> = { en, zh_CN: zhCN, zh_TW: zhTW };
/** How each language calls itself. */
export const LANGUAGES: readonly { language: Written; name: string; tag: string }[] = [
  { language: 'en', name: 'English', tag: 'en' },
  { language: 'zh_CN', name: '简体中文', tag: 'zh-CN' },
  { language: 'zh_TW', name: '繁體中文', tag: 'zh-TW' },
];

/** The language to write in, given the setting and what the browser prefers. */
export function writtenIn(language: Language, preferred: readonly string[]): Written {
  if (language !== 'auto') return language;
  for (const tag of preferred.map((t) => t.toLowerCase())) {
    if (/^zh\b.*\b(?:tw|hk|mo|hant)\b/.test(tag)) return 'zh_TW';
    if (/^zh\b/.test(tag)) return 'zh_CN';
    if (/^en\b/.test(tag)) return 'en';
  }
  return 'en';
}

export function wordsIn(language: Written): Words {
  return (key, values = {}) => {
    const [group = '', name = ''] = key.split('.');
    const sentence = SENTENCES[language][group]?.[name] ?? key;
    return sentence.replace(/\{(\w+)\}/g, (_, slot: string) => String(values[slot] ?? ''));
  };
}

const Spoken = createContext<Words>(wordsIn('en'));

export function useWords(): Words {
  return useContext(Spoken);
}

export function Speaking({ language, children }: { language: Language; children: ReactNode }) {
  const written = writtenIn(language, navigator.languages);
  const tag = LANGUAGES.find((l) => l.language === written)?.tag ?? 'en';
  document.documentElement.lang = tag;
  return <Spoken value={wordsIn(written)}>{children}</Spoken>;
}
