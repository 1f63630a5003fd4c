#pragma once

// Helpers for audio tests: synthetic recordings, files of the shared data, and a sink that stores
// its input.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/audio/audio.h"
#include "codec/codec_test_support.h"

namespace forebay::codec_test {

class KeptFrames final : public AudioSink {
 public:
  explicit KeptFrames(int64_t channels) : channels_(channels) {}
  Status frames(const float* values, int64_t count) override {
    samples.insert(samples.end(), values, values + count * channels_);
    return {};
  }
  std::vector<float> samples;

 private:
  int64_t channels_;
};

struct Recording {
  Status status;
  AudioInfo info;
  std::vector<float> samples;
};

/// Opens and decodes a recording.
inline Recording read_recording(const Blob& bytes) {
  auto reader = AudioReader::open(bytes);
  if (!reader.ok()) return {reader.status(), {}, {}};
  KeptFrames kept((*reader)->info().channels);
  const Status status = (*reader)->read(kept);
  return {status, (*reader)->info(), std::move(kept.samples)};
}

inline void put_number(Blob& out, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> 8 * i));
}
inline void put_text(Blob& out, const char* text) { out.insert(out.end(), text, text + std::strlen(text)); }

/// 16-bit PCM, interleaved.
inline Blob wav_of(const std::vector<int16_t>& samples, uint32_t rate = 16000, uint16_t channels = 1) {
  Blob out;
  const auto bytes = static_cast<uint32_t>(samples.size() * 2);
  put_text(out, "RIFF");
  put_number(out, 36 + bytes, 4);
  put_text(out, "WAVEfmt ");
  put_number(out, 16, 4);
  put_number(out, 1, 2);
  put_number(out, channels, 2);
  put_number(out, rate, 4);
  put_number(out, rate * channels * 2, 4);
  put_number(out, channels * 2u, 2);
  put_number(out, 16, 2);
  put_text(out, "data");
  put_number(out, bytes, 4);
  for (const int16_t sample : samples) put_number(out, static_cast<uint16_t>(sample), 2);
  return out;
}

inline std::vector<int16_t> ramp(int64_t count) {
  std::vector<int16_t> samples;
  for (int64_t i = 0; i < count; ++i) samples.push_back(static_cast<int16_t>(i * 7919 % 65536 - 32768));
  return samples;
}

/// Empty if the shared data is missing; the test is then skipped.
inline Blob shared_audio(const std::string& name) {
  const std::filesystem::path data = shared_data();
  return data.empty() ? Blob() : read_file(data / name);
}

}  // namespace forebay::codec_test

#define FOREBAY_SHARED_AUDIO(name, path) \
  const Blob name = shared_audio(path);  \
  if (name.empty()) GTEST_SKIP() << "SHARED DATA ABSENT: " << (path)
