declare module '*.yml' {
  /** Groups of sentences by name. */
  const sentences: Record<string, Record<string, string>>;
  export default sentences;
}
