//! The demo's podcast: a few soft notes as a WAV file, another tune for every name.

/// How long an episode plays.
pub(super) const SECS: u32 = 6;

/// Samples a second; one byte each.
const RATE: u32 = 8000;

const HEADER_BYTES: u32 = 44;

/// How large a file is.
pub(super) const BYTES: u32 = HEADER_BYTES + SECS * RATE;

/// Notes of a scale without discord, in hertz.
const SCALE: [f64; 6] = [220.0, 261.6, 293.7, 329.6, 392.0, 440.0];

const NOTES: u32 = 2;

/// An episode: mono, 8 bits (RIFF, WAVE, PCM).
pub(super) fn wav(name: &str) -> Vec<u8> {
    let data = SECS * RATE;
    let mut file = Vec::with_capacity(BYTES as usize);
    file.extend(b"RIFF");
    file.extend((HEADER_BYTES - 8 + data).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    file.extend([1, 0, 1, 0]);
    file.extend(RATE.to_le_bytes());
    file.extend(RATE.to_le_bytes());
    file.extend([1, 0, 8, 0]);
    file.extend(b"data");
    file.extend(data.to_le_bytes());
    let steps: Vec<usize> = name.bytes().map(usize::from).collect();
    file.extend((0..data).map(|sample| sample_of(&steps, sample)));
    file
}

fn sample_of(steps: &[usize], sample: u32) -> u8 {
    let note_samples = RATE / NOTES;
    let note = (sample / note_samples) as usize;
    let into = f64::from(sample % note_samples) / f64::from(note_samples);
    let pitch = SCALE[steps.iter().cycle().take(note + 1 + steps.len()).sum::<usize>() % SCALE.len()];
    // It swells and fades, so that no note clicks.
    let loudness = (into * std::f64::consts::PI).sin() * 60.0;
    let wave = (f64::from(sample) / f64::from(RATE) * pitch * std::f64::consts::TAU).sin();
    let level = (128.0 + loudness * wave).clamp(0.0, 255.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 255")]
    let byte = level as u8;
    byte
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_demo_sounds_have_the_size_that_the_feed_says() {
        assert_eq!(wav("radio-1").len(), BYTES as usize);
        assert_ne!(wav("radio-1"), wav("radio-2"));
        assert_eq!(wav("radio-1")[..4], *b"RIFF");
    }
}
