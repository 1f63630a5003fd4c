#include "sound/chunks.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace forebay {
namespace {

// From these values on, writers with 32-bit and 64-bit lengths store a length that they did not
// know.
constexpr uint64_t kUnknownSize = 0x7fff0000, kUnknownLongSize = uint64_t{1} << 62;
// PCM, ADPCM of Microsoft, float, A-law, µ-law, IMA ADPCM, GSM, G.721, NMS, extensible.
constexpr uint64_t kWavCodings[] = {0x0001, 0x0002, 0x0003, 0x0006, 0x0007, 0x0011, 0x0031, 0x0040, 0x0038, 0xfffe};

/// The layout of chunks in a kind of file.
struct ChunkForm {
  size_t first = 12;           ///< offset of the first chunk
  size_t id_bytes = 4;         ///< before the length
  size_t length_bytes = 4;     ///< 4 or 8
  bool counts_itself = false;  ///< the length includes id and length
  size_t rounded = 2;          ///< chunks begin at multiples of this
  bool big_endian = false;

  size_t header() const { return id_bytes + length_bytes; }
  bool is_unknown(uint64_t length) const {
    return length_bytes == 4 ? length >= kUnknownSize : length >= kUnknownLongSize;
  }
};

bool is_named(AudioBytes bytes, size_t position, const char* name) {
  return bytes.size() >= position + 4 && std::memcmp(bytes.data() + position, name, 4) == 0;
}

ChunkForm form_of(AudioBytes bytes, std::string_view format) {
  if (format == "W64") return {40, 16, 8, true, 8, false};
  if (format == "CAF") return {8, 4, 8, false, 1, true};
  ChunkForm form;
  form.big_endian = format == "AIFF" || is_named(bytes, 0, "RIFX");
  return form;
}

uint64_t number_at(AudioBytes bytes, size_t position, size_t size, bool big_endian) {
  uint64_t number = 0;
  for (size_t i = 0; i < size; ++i) number |= uint64_t{bytes[position + i]} << 8 * (big_endian ? size - 1 - i : i);
  return number;
}

SoundView patched(AudioBytes bytes, size_t position, size_t size, bool big_endian, uint64_t value) {
  SoundView view{bytes.size(), position, size, {}};
  if (size == 4) value = std::min<uint64_t>(value, 0xffffffff);
  for (size_t i = 0; i < size; ++i) view.patch[i] = static_cast<uint8_t>(value >> 8 * (big_endian ? size - 1 - i : i));
  return view;
}

Status missing_samples(uint64_t says, uint64_t has) {
  return corrupt(fmt::format("the header says {} bytes of samples, and {} are there", says, has));
}

Status second_recording(std::string_view format, size_t position) {
  return unsupported(
      fmt::format("a second {} recording begins at byte {}; cut it into files of one recording", format, position));
}

class SoundChunks {
 public:
  SoundChunks(AudioBytes bytes, std::string_view format)
      : bytes_(bytes), format_(format), form_(form_of(bytes, format)) {}

  Result<SoundView> check() {
    for (size_t position = form_.first; position + form_.header() <= bytes_.size();) {
      const uint64_t length = length_at(position), left = bytes_.size() - position - form_.header();
      FOREBAY_RETURN_IF_ERROR(inspect_chunk(position, left));
      if (is_sample_chunk(position)) return check_samples(position, length, left);
      // Nothing can be found after a chunk that extends beyond the file. If no samples precede it,
      // there are none.
      if (length > left) break;
      position = next(position, length);
    }
    return corrupt("ends before its samples begin");
  }

 private:
  uint64_t length_at(size_t position) const {
    const uint64_t length = number_at(bytes_, position + form_.id_bytes, form_.length_bytes, form_.big_endian);
    return form_.counts_itself ? length - std::min<uint64_t>(length, form_.header()) : length;
  }
  bool is_sample_chunk(size_t position) const {
    return is_named(bytes_, position, "data") || is_named(bytes_, position, "SSND");
  }
  size_t next(size_t position, uint64_t length) const {
    const uint64_t end = position + form_.header() + length;
    return static_cast<size_t>((end + form_.rounded - 1) / form_.rounded * form_.rounded);
  }

  Status inspect_chunk(size_t position, uint64_t left) {
    if (is_named(bytes_, position, "ds64") && left >= 16) long_length_ = position + form_.header() + 8;
    if (format_ != "CAF" && is_named(bytes_, position, "fmt ") && left >= 2) {
      const uint64_t coding = number_at(bytes_, position + form_.header(), 2, form_.big_endian);
      if (std::ranges::find(kWavCodings, coding) == std::end(kWavCodings)) {
        return unsupported(
            fmt::format("WAV with samples coded as {:#06x}; PCM, float, A-law, µ-law, ADPCM and GSM are read", coding));
      }
    }
    return {};
  }

  Result<SoundView> check_samples(size_t position, uint64_t length, uint64_t left) const {
    // RF64 stores the length elsewhere, in 64 bits.
    if (long_length_ > 0 && length == 0xffffffff) {
      const uint64_t stated = number_at(bytes_, long_length_, 8, false);
      if (stated == 0 || stated >= kUnknownLongSize) return patched(bytes_, long_length_, 8, false, left);
      if (stated > left) return missing_samples(stated, left);
      return view_of_samples(position, stated);
    }
    if (form_.is_unknown(length) || (length == 0 && !are_chunks(position + form_.header()))) {
      return patched(bytes_, position + form_.id_bytes, form_.length_bytes, form_.big_endian,
                     left + (form_.counts_itself ? form_.header() : 0));
    }
    if (length > left) return missing_samples(length, left);
    return view_of_samples(position, length);
  }

  bool begins_recording(size_t position) const {
    return (is_named(bytes_, position, "RIFF") && is_named(bytes_, position + 8, "WAVE")) ||
           (is_named(bytes_, position, "FORM") && is_named(bytes_, position + 8, "AIFF")) ||
           is_named(bytes_, position, "RF64") || is_named(bytes_, position, "caff") ||
           is_named(bytes_, position, "riff");
  }

  /// A second recording after the first would be lost silently.
  Result<SoundView> view_of_samples(size_t position, uint64_t length) const {
    const size_t end = position + form_.header() + static_cast<size_t>(length);
    if (begins_recording(end)) return second_recording(format_, end);
    for (position = next(position, length); position + form_.header() <= bytes_.size();
         position = next(position, length)) {
      if (begins_recording(position)) return second_recording(format_, position);
      length = length_at(position);
      if (length > bytes_.size() - position - form_.header()) break;
    }
    // libsndfile reads everything that follows in such a file as samples.
    return SoundView{format_ == "W64" ? end : bytes_.size(), 0, 0, {}};
  }

  /// True if chunks follow up to the end of the file. A length of 0 then means 0.
  bool are_chunks(size_t position) const {
    if (position == bytes_.size()) return true;
    while (position + form_.header() <= bytes_.size()) {
      const auto is_letter = [](uint8_t byte) { return byte >= ' ' && byte < 0x7f; };
      if (!std::ranges::all_of(bytes_.subspan(position, 4), is_letter)) return false;
      position = next(position, std::min<uint64_t>(length_at(position), bytes_.size()));
    }
    // The last chunk may lack its padding byte.
    return position == bytes_.size() || position == bytes_.size() + 1;
  }

  const AudioBytes bytes_;
  const std::string_view format_;
  const ChunkForm form_;
  size_t long_length_ = 0;  // offset of the sample length in RF64
};

/// AU has no chunks: it has a magic number, the offset of the samples, and their length.
Result<SoundView> check_au(AudioBytes bytes) {
  if (bytes.size() < 24) return corrupt("ends before its samples begin");
  const uint64_t begin = number_at(bytes, 4, 4, true), stated = number_at(bytes, 8, 4, true);
  if (begin > bytes.size()) return corrupt("ends before its samples begin");
  const uint64_t left = bytes.size() - begin;
  if (stated == 0xffffffff || (stated == 0 && left > 0)) return patched(bytes, 8, 4, true, left);
  if (stated > left) return missing_samples(stated, left);
  if (is_named(bytes, begin + stated, ".snd")) return second_recording("AU", begin + stated);
  return SoundView{bytes.size(), 0, 0, {}};
}

}  // namespace

Result<SoundView> check_sound_chunks(AudioBytes bytes, std::string_view format) {
  return format == "AU" ? check_au(bytes) : SoundChunks(bytes, format).check();
}

}  // namespace forebay
