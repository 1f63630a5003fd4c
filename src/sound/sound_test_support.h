#pragma once

// Recordings that tests make in memory, with the libraries that wrote the formats.

#include <FLAC/stream_encoder.h>
#include <sndfile.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "codec/audio/audio_test_support.h"

namespace forebay::codec_test {

/// A file in memory that libsndfile writes.
struct MemoryFile {
  Blob bytes;
  sf_count_t place = 0;

  static MemoryFile& of(void* self) { return *static_cast<MemoryFile*>(self); }
  static sf_count_t length(void* self) { return static_cast<sf_count_t>(of(self).bytes.size()); }
  static sf_count_t tell(void* self) { return of(self).place; }
  static sf_count_t seek(sf_count_t offset, int whence, void* self) {
    const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? tell(self) : length(self);
    return of(self).place = from + offset;
  }
  static sf_count_t read(void* out, sf_count_t size, void* self) {
    size = std::clamp<sf_count_t>(size, 0, length(self) - tell(self));
    std::memcpy(out, of(self).bytes.data() + tell(self), static_cast<size_t>(size));
    of(self).place += size;
    return size;
  }
  static sf_count_t write(const void* data, sf_count_t size, void* self) {
    MemoryFile& file = of(self);
    const auto end = static_cast<size_t>(file.place + size);
    if (file.bytes.size() < end) file.bytes.resize(end);
    std::memcpy(file.bytes.data() + file.place, data, static_cast<size_t>(size));
    file.place += size;
    return size;
  }
};

/// Writes 32-bit samples, interleaved, of which a format takes the highest bits. Empty if this
/// libsndfile cannot write the format.
inline Blob written_sound(int format, const std::vector<int>& samples, int channels = 1, int rate = 16000) {
  MemoryFile file;
  SF_VIRTUAL_IO io = {MemoryFile::length, MemoryFile::seek, MemoryFile::read, MemoryFile::write, MemoryFile::tell};
  SF_INFO info = {};
  info.format = format;
  info.channels = channels;
  info.samplerate = rate;
  SNDFILE* const out = sf_open_virtual(&io, SFM_WRITE, &info, &file);
  if (out == nullptr) return {};
  sf_command(out, SFC_SET_SCALE_INT_FLOAT_WRITE, nullptr, SF_TRUE);  // full scale is 1 in formats of floats
  const auto frames = static_cast<sf_count_t>(samples.size()) / channels;
  EXPECT_EQ(sf_writef_int(out, samples.data(), frames), frames);
  EXPECT_EQ(sf_close(out), 0);
  return file.bytes;
}

/// Different samples of `bits` bits, in the highest bits.
inline std::vector<int> wide_ramp(size_t count, int bits) {
  std::vector<int> samples;
  for (size_t i = 0; i < count; ++i)
    samples.push_back(static_cast<int>(static_cast<uint32_t>(i * 2654435761u) >> (32 - bits) << (32 - bits)));
  return samples;
}

/// Encodes samples of `bits` bits as FLAC. With `known_length` false, the header does not say how
/// many there are.
inline Blob written_flac(const std::vector<int>& samples, unsigned channels = 1, unsigned bits = 16,
                         unsigned rate = 16000, bool known_length = true) {
  Blob bytes;
  FLAC__StreamEncoder* const encoder = FLAC__stream_encoder_new();
  FLAC__stream_encoder_set_channels(encoder, channels);
  FLAC__stream_encoder_set_bits_per_sample(encoder, bits);
  FLAC__stream_encoder_set_sample_rate(encoder, rate);
  FLAC__stream_encoder_set_blocksize(encoder, 1024);
  FLAC__stream_encoder_set_streamable_subset(encoder, false);
  if (known_length) FLAC__stream_encoder_set_total_samples_estimate(encoder, samples.size() / channels);
  const auto write = [](const FLAC__StreamEncoder*, const FLAC__byte* data, size_t size, uint32_t, uint32_t,
                        void* out) {
    static_cast<Blob*>(out)->insert(static_cast<Blob*>(out)->end(), data, data + size);
    return FLAC__STREAM_ENCODER_WRITE_STATUS_OK;
  };
  EXPECT_EQ(FLAC__stream_encoder_init_stream(encoder, write, nullptr, nullptr, nullptr, &bytes),
            FLAC__STREAM_ENCODER_INIT_STATUS_OK);
  EXPECT_TRUE(FLAC__stream_encoder_process_interleaved(encoder, samples.data(),
                                                       static_cast<unsigned>(samples.size() / channels)));
  EXPECT_TRUE(FLAC__stream_encoder_finish(encoder));
  FLAC__stream_encoder_delete(encoder);
  return bytes;
}

inline Blob joined(const std::vector<Blob>& parts) {
  Blob all;
  for (const Blob& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline Blob first_bytes(const Blob& bytes, size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(count, bytes.size()))};
}

/// Layer III frames of silence: 128 kbit/s at 44,100 Hz, 417 bytes and 1152 samples each.
inline Blob silent_mp3(size_t frames, bool mono = false) {
  Blob bytes;
  for (size_t i = 0; i < frames; ++i) {
    put_number(bytes, mono ? 0xc090fbffu : 0x0090fbffu, 4);
    bytes.resize((i + 1) * 417, 0);
  }
  return bytes;
}

/// One page of an Ogg file (RFC 3533, section 6) with a checksum that fits.
struct OggPageParts {
  uint32_t serial = 1, sequence = 0;
  uint8_t flags = 0;  // 2: the first page of its stream, 4: the last one
  Blob payload = {};
};

inline uint32_t ogg_checksum(const Blob& page) {
  uint32_t value = 0;
  for (const uint8_t byte : page) {
    value ^= uint32_t{byte} << 24;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x80000000u) != 0 ? value << 1 ^ 0x04c11db7u : value << 1;
  }
  return value;
}

inline Blob ogg_page(const OggPageParts& parts) {
  Blob page;
  put_text(page, "OggS");
  page.push_back(0);
  page.push_back(parts.flags);
  put_number(page, 0, 4);  // granule position
  put_number(page, 0, 4);
  put_number(page, parts.serial, 4);
  put_number(page, parts.sequence, 4);
  put_number(page, 0, 4);  // checksum
  const size_t segments = parts.payload.size() / 255 + 1;
  page.push_back(static_cast<uint8_t>(segments));
  for (size_t i = 0; i + 1 < segments; ++i) page.push_back(255);
  page.push_back(static_cast<uint8_t>(parts.payload.size() % 255));
  page.insert(page.end(), parts.payload.begin(), parts.payload.end());
  const uint32_t checksum = ogg_checksum(page);
  for (int i = 0; i < 4; ++i) page[22 + static_cast<size_t>(i)] = static_cast<uint8_t>(checksum >> 8 * i);
  return page;
}

}  // namespace forebay::codec_test
