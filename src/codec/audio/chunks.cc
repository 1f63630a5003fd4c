#include "codec/audio/chunks.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace forebay {
namespace {

// Beyond it writers put what they did not know.
constexpr uint64_t kUnknownSize = 0x7fff0000;
// PCM, ADPCM of Microsoft, float, A-law, µ-law, IMA ADPCM, GSM, G.721, NMS, extensible.
constexpr uint32_t kWavCodings[] = {0x0001, 0x0002, 0x0003, 0x0006, 0x0007, 0x0011, 0x0031, 0x0040, 0x0038, 0xfffe};

uint32_t number_at(AudioBytes bytes, size_t place, size_t size, bool big_endian) {
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i) number |= uint32_t{bytes[place + i]} << 8 * (big_endian ? size - 1 - i : i);
  return number;
}

bool is_named(AudioBytes bytes, size_t place, const char* name) {
  return std::memcmp(bytes.data() + place, name, 4) == 0;
}

Status check_coding(AudioBytes bytes, size_t place, bool big_endian) {
  const uint32_t coding = number_at(bytes, place, 2, big_endian);
  if (std::find(std::begin(kWavCodings), std::end(kWavCodings), coding) != std::end(kWavCodings)) return {};
  return unsupported(
      fmt::format("WAV with samples coded as {:#06x}; PCM, float, A-law, µ-law, ADPCM and GSM are read", coding));
}

}  // namespace

Status check_sound_chunks(AudioBytes bytes) {
  const bool big_endian = !is_named(bytes, 0, "RIFF");
  for (size_t place = 12; place + 8 <= bytes.size();) {
    const uint64_t size = number_at(bytes, place + 4, 4, big_endian), left = bytes.size() - place - 8;
    const bool samples = is_named(bytes, place, "data") || is_named(bytes, place, "SSND");
    // Whether all are there is found out by reading to the end.
    if (samples && (size == 0 || size >= kUnknownSize)) return {};
    if (samples && size > left)
      return corrupt(fmt::format("the header says {} bytes of samples, and {} are there", size, left));
    if (is_named(bytes, place, "fmt ") && left >= 2)
      FOREBAY_RETURN_IF_ERROR(check_coding(bytes, place + 8, big_endian));
    if (samples) return {};
    // Behind a chunk that ends outside nothing can be found; without samples before it there are none.
    if (size > left) break;
    place += 8 + static_cast<size_t>(size + size % 2);
  }
  return corrupt("ends before its samples begin");
}

}  // namespace forebay
