use super::*;
use crate::base::limits::{BRIDGE_LINE_BYTES_MAX, NM_IN_BYTES_MAX, NM_OUT_BYTES_MAX};
use proptest::prelude::*;

fn lines_of(bytes: &[u8], max: usize) -> (Vec<Vec<u8>>, Result<(), FrameFault>) {
    let mut lines = Lines::new(max);
    let verdict = lines.push(bytes);
    (core::iter::from_fn(|| lines.next()).collect(), verdict)
}

#[test]
fn t002_a_declared_length_above_the_limit_is_refused_at_its_fourth_byte() {
    let over = u32::try_from(NM_IN_BYTES_MAX + 1).expect("fits");
    for declared in [u32::MAX, over] {
        let mut frames = NmFrames::new(NM_IN_BYTES_MAX);
        let prefix = declared.to_le_bytes();
        assert_eq!(frames.push(&prefix[..3]), Ok(()));
        assert_eq!(frames.push(&prefix[3..]), Err(FrameFault::TooLong { max: NM_IN_BYTES_MAX }));
        assert_eq!(frames.push(b"{}"), Err(FrameFault::TooLong { max: NM_IN_BYTES_MAX }), "it stays closed");
        assert_eq!(frames.next(), None);
        assert!(frames.finish().is_err());
    }
}

#[test]
fn t002_memory_follows_the_bytes_that_came_not_the_length_that_was_declared() {
    let mut frames = NmFrames::new(NM_IN_BYTES_MAX);
    let largest = u32::try_from(NM_IN_BYTES_MAX).expect("fits");
    assert_eq!(frames.push(&largest.to_le_bytes()), Ok(()));
    assert_eq!(frames.push(&[b' '; 10]), Ok(()));
    let held = frames.body.as_ref().map(|body| body.bytes.capacity());
    assert!(held.is_some_and(|bytes| bytes <= 64), "{held:?}");
}

#[test]
fn the_limits_are_exact_in_both_directions() {
    for max in [NM_OUT_BYTES_MAX, NM_IN_BYTES_MAX] {
        let at = alloc::vec![b' '; max];
        let frame = nm_frame(&at, max).expect("at the limit");
        assert_eq!(nm_frame(&alloc::vec![b' '; max + 1], max), Err(FrameFault::TooLong { max }));
        let mut frames = NmFrames::new(max);
        for piece in frame.chunks(65_536) {
            assert_eq!(frames.push(piece), Ok(()));
        }
        let read = frames.next().expect("a frame");
        assert!(read == at && read.capacity() == max, "held {} for {max}", read.capacity());
    }
}

#[test]
fn t003_zero_length_missing_body_and_a_cut_stream_yield_no_frame() {
    let mut empty = NmFrames::new(8);
    assert_eq!(empty.push(&[0, 0, 0, 0, 1, 0, 0, 0, b'1']), Err(FrameFault::Empty));
    assert_eq!(empty.next(), None);
    assert_eq!(nm_frame(b"", 8), Err(FrameFault::Empty));
    for cut in 1..6 {
        let mut frames = NmFrames::new(8);
        assert_eq!(frames.push(&[2, 0, 0, 0, b'{', b'}'][..cut]), Ok(()));
        assert_eq!((frames.next(), frames.finish()), (None, Err(FrameFault::CutShort)), "cut after {cut}");
    }
    assert_eq!(NmFrames::new(8).finish(), Ok(()));
}

#[test]
fn frames_before_a_fault_are_still_delivered() {
    let mut frames = NmFrames::new(2);
    assert!(frames.push(&[2, 0, 0, 0, b'{', b'}', 3, 0, 0, 0]).is_err());
    assert_eq!(frames.next().as_deref(), Some(&b"{}"[..]));
}

#[test]
fn t023_only_lf_separates_lines() {
    let text = "a\rb\0c\u{2028}d\u{85}e\n\nf\r\ng".as_bytes();
    let (lines, verdict) = lines_of(text, 64);
    assert_eq!(verdict, Ok(()));
    assert_eq!(lines, ["a\rb\0c\u{2028}d\u{85}e".as_bytes(), b"", b"f\r"]);
    let mut open = Lines::new(64);
    assert_eq!((open.push(b"g"), open.finish()), (Ok(()), Err(FrameFault::CutShort)));
}

#[test]
fn t023_a_line_that_never_ends_is_cut_at_the_limit() {
    let mut lines = Lines::new(BRIDGE_LINE_BYTES_MAX);
    let (piece, mut sent) = ([b'x'; 65_536], 0_usize);
    let fault = loop {
        match lines.push(&piece) {
            Ok(()) => sent += piece.len(),
            Err(fault) => break fault,
        }
        assert!(lines.open.capacity() <= BRIDGE_LINE_BYTES_MAX);
    };
    assert_eq!((fault, sent), (FrameFault::TooLong { max: BRIDGE_LINE_BYTES_MAX }, BRIDGE_LINE_BYTES_MAX));
    assert_eq!((lines.open.capacity(), lines.push(b"\n")), (0, Err(fault)), "what was buffered is let go");
}

#[test]
fn the_line_limit_is_exact() {
    assert_eq!(lines_of(b"12345678\n", 8), (alloc::vec![b"12345678".to_vec()], Ok(())));
    assert_eq!(lines_of(b"123456789\n", 8), (Vec::new(), Err(FrameFault::TooLong { max: 8 })));
    assert_eq!(
        lines_of(b"1\n123456789", 8),
        (alloc::vec![b"1".to_vec()], Err(FrameFault::TooLong { max: 8 }))
    );
}

#[test]
fn a_widened_splitter_takes_longer_lines_and_never_shorter() {
    let mut lines = Lines::new(4);
    lines.widen(8);
    assert_eq!(lines.push(b"12345678\n"), Ok(()));
    lines.widen(4);
    assert_eq!(lines.push(b"12345678\n"), Ok(()));
    assert_eq!(lines.push(b"123456789"), Err(FrameFault::TooLong { max: 8 }));
}

proptest! {
    #[test]
    fn frames_come_out_the_same_however_the_stream_is_cut(
        frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..40), 0..8),
        step in 1_usize..50,
    ) {
        let stream: Vec<u8> = frames.iter().flat_map(|json| nm_frame(json, 40).expect("small")).collect();
        let mut reader = NmFrames::new(40);
        for piece in stream.chunks(step) {
            prop_assert_eq!(reader.push(piece), Ok(()));
        }
        prop_assert_eq!(reader.finish(), Ok(()));
        let read: Vec<_> = core::iter::from_fn(|| reader.next()).collect();
        prop_assert_eq!(read, frames);
    }

    #[test]
    fn lines_come_out_the_same_however_the_stream_is_cut(text in prop::collection::vec(any::<u8>(), 0..200), step in 1_usize..50) {
        let mut reader = Lines::new(200);
        for piece in text.chunks(step) {
            prop_assert_eq!(reader.push(piece), Ok(()));
        }
        let mut expected: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let open = expected.pop().unwrap_or_default();
        prop_assert_eq!(reader.finish().is_ok(), open.is_empty());
        let read: Vec<_> = core::iter::from_fn(|| reader.next()).collect();
        prop_assert_eq!(read, expected);
    }
}
