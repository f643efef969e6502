/* A real Chromium with the built extension and the real host, in a throwaway profile.
   The popup is the real one: opened through the toolbar action and clicked with trusted input. What a test cannot click is
   the browser's own permission prompt; profiles that need it granted have it in their preferences, as a profile that
   granted it once has. The prompt itself is answered in the headed test. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { type BrowserContext, type CDPSession, chromium, type Page, type Worker } from 'playwright-core';
import { BINARY, EXTENSION, type Home, until } from './home.ts';

/** What every Chromium here runs with; headless unless a test needs a screen. */
export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export type Start = {
  /** Match patterns that this profile has granted to the extension before, e.g. `http://127.0.0.1/*`. */
  granted?: string[];
  profile?: string;
  headed?: boolean;
  /** Folders of other unpacked extensions in the same profile. */
  others?: string[];
  /** In place of the built extension: a copy of it that a test changed. */
  extension?: string;
  args?: string[];
};

export class Browser {
  readonly context: BrowserContext;
  readonly profile: string;
  readonly id: string;

  private constructor(context: BrowserContext, profile: string, id: string) {
    this.context = context;
    this.profile = profile;
    this.id = id;
  }

  static async start(home: Home, options: Start = {}): Promise<Browser> {
    const profile = home.path(options.profile ?? 'profile');
    register(home, profile);
    const granted = options.granted ?? [];
    if (granted.length > 0 && !fs.existsSync(path.join(profile, 'Default/Preferences'))) {
      const first = await launch(home, profile, options);
      const id = await extensionId(first);
      const preferences = path.join(profile, 'Default/Preferences');
      await until('the profile to know the extension', () => settingsOf(preferences, id));
      await first.close();
      grant(preferences, id, granted);
    }
    const context = await launch(home, profile, options);
    return new Browser(context, profile, await extensionId(context));
  }

  async worker(): Promise<Worker> {
    return await ownWorker(this.context);
  }

  async page(url: string): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(url);
    return page;
  }

  /** Opens the toolbar popup over `page` and hands over a driver for it. */
  async popup(page: Page): Promise<Popup> {
    await page.bringToFront();
    const worker = await this.worker();
    await worker.evaluate(async () => await chrome.action.openPopup());
    const session = await this.context.newCDPSession(page);
    const target = await until('the popup', async () => {
      const { targetInfos } = await session.send('Target.getTargets');
      return targetInfos.find((info) => info.url.startsWith(`chrome-extension://${this.id}/popup.html`));
    });
    return await Popup.attach(session, target.targetId);
  }

  /** Approves the site that `page` shows, by the popup's button, and closes the popup. */
  async approve(page: Page, testId = 'site-allow'): Promise<void> {
    const popup = await this.popup(page);
    await popup.click(testId);
    await until('the site to be approved', () => popup.has('site-deny'));
    await popup.close();
  }

  /** The confirmation window, once it is open. */
  async confirmation(): Promise<Page> {
    return await until('the confirmation window', () =>
      this.context.pages().find((page) => page.url().startsWith(`chrome-extension://${this.id}/confirm.html`)),
    );
  }

  async stop(): Promise<void> {
    await this.context.close();
  }
}

/** The popup as a person meets it; it is no tab, so it is driven through its target. */
export class Popup {
  readonly #session: CDPSession;
  readonly #target: string;
  readonly #link: string;
  #next = 0;
  #waiting = new Map<number, (answer: { result?: unknown; error?: { message: string } }) => void>();

  private constructor(session: CDPSession, target: string, link: string) {
    this.#session = session;
    this.#target = target;
    this.#link = link;
    session.on('Target.receivedMessageFromTarget', (event) => {
      const answer = JSON.parse(event.message) as { id?: number; result?: unknown };
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
  }

  static async attach(session: CDPSession, targetId: string): Promise<Popup> {
    const { sessionId } = await session.send('Target.attachToTarget', { targetId, flatten: false });
    return new Popup(session, targetId, sessionId);
  }

  async #send(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const id = ++this.#next;
    const answer = new Promise<{ result?: unknown; error?: { message: string } }>((resolve) =>
      this.#waiting.set(id, resolve),
    );
    await this.#session.send('Target.sendMessageToTarget', {
      sessionId: this.#link,
      message: JSON.stringify({ id, method, params }),
    });
    const { result, error } = await answer;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result as Record<string, unknown>;
  }

  async evaluate<T>(expression: string): Promise<T> {
    const { result } = (await this.#send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
    })) as {
      result: { value: T };
    };
    return result.value;
  }

  async has(testId: string): Promise<boolean> {
    return await this.evaluate(`!!document.querySelector('[data-testid="${testId}"]')`);
  }

  async text(): Promise<string> {
    return await this.evaluate('document.body.innerText');
  }

  /** A trusted click, with user activation, in the middle of the element. */
  async click(testId: string): Promise<void> {
    const { x, y } = await until(`the popup's ${testId}`, () =>
      this.evaluate<{ x: number; y: number } | null>(`(() => {
        const box = document.querySelector('[data-testid="${testId}"]')?.getBoundingClientRect();
        return box && box.width > 0 ? { x: box.x + box.width / 2, y: box.y + box.height / 2 } : null;
      })()`),
    );
    for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased']) {
      await this.#send('Input.dispatchMouseEvent', {
        type,
        x,
        y,
        button: type === 'mouseMoved' ? 'none' : 'left',
        clickCount: 1,
      });
    }
  }

  async screenshot(file: string): Promise<void> {
    const { data } = (await this.#send('Page.captureScreenshot', { format: 'png' })) as { data: string };
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  }

  async close(): Promise<void> {
    await this.#session.send('Target.closeTarget', { targetId: this.#target }).catch(() => {});
    await this.#session.detach().catch(() => {});
  }
}

/** Registers the host for one profile with the product's own command. */
export function register(home: Home, profile: string): void {
  const manifests = path.join(profile, 'NativeMessagingHosts');
  fs.mkdirSync(manifests, { recursive: true });
  execFileSync(BINARY, ['doctor', '--fix', '--manifest-dir', manifests], { env: home.env, stdio: 'pipe' });
}

async function launch(home: Home, profile: string, options: Start): Promise<BrowserContext> {
  const extensions = [options.extension ?? EXTENSION, ...(options.others ?? [])].join(',');
  return await chromium.launchPersistentContext(profile, {
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    headless: false,
    env: home.env,
    viewport: null,
    args: [
      ...(options.headed ? [] : ['--headless=new']),
      ...FLAGS,
      `--disable-extensions-except=${extensions}`,
      `--load-extension=${extensions}`,
      ...(options.args ?? []),
    ],
  });
}

async function extensionId(context: BrowserContext): Promise<string> {
  return new URL((await ownWorker(context)).url()).hostname;
}

async function ownWorker(context: BrowserContext): Promise<Worker> {
  return await until('the extension worker', () =>
    context.serviceWorkers().find((worker) => worker.url().endsWith('/background.js')),
  );
}

type Preferences = { extensions?: { settings?: Record<string, Record<string, unknown>> } };

function settingsOf(file: string, id: string): Record<string, unknown> | undefined {
  if (!fs.existsSync(file)) return undefined;
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as Preferences).extensions?.settings?.[id];
}

function grant(file: string, id: string, origins: string[]): void {
  const preferences = JSON.parse(fs.readFileSync(file, 'utf8')) as Preferences;
  const settings = preferences.extensions?.settings?.[id];
  if (!settings) throw new Error(`${file} does not know the extension`);
  settings['runtime_granted_permissions'] = {
    api: [],
    manifest_permissions: [],
    scriptable_host: [],
    explicit_host: origins,
  };
  fs.writeFileSync(file, JSON.stringify(preferences));
}

/** Answers a confirmation as a person does: the pointer wanders through the window, then presses the button once it is live. */
export async function answer(window: Page, testId: 'confirm-allow' | 'confirm-deny'): Promise<void> {
  const button = window.getByTestId(testId);
  await button.waitFor();
  const box = (await button.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const closed = window.waitForEvent('close');
  const end = performance.now() + 15_000;
  // Input in the guard's time is ignored by design, so a press may have to be repeated, as a person would.
  while (!window.isClosed() && performance.now() < end) {
    await window.mouse.move(x + 120, y - 90, { steps: 4 }).catch(() => {});
    await window.mouse.move(x, y, { steps: 8 }).catch(() => {});
    await window.mouse.click(x, y).catch(() => {});
    await new Promise((resume) => setTimeout(resume, 150));
  }
  await closed;
}
