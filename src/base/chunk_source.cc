#include "base/chunk_source.h"

#include <algorithm>

namespace forebay {

int64_t ChunkSource::fewest_rows() const {
  int64_t fewest = size();
  for (int64_t chunk = 0; chunk < chunks(); ++chunk)
    fewest = std::min(fewest, chunk_begin(chunk + 1) - chunk_begin(chunk));
  return fewest;
}

std::string ChunkSource::lasting_key(int64_t id) const {
  const std::string shown = key(id);
  return shown.substr(shown.rfind('/') + 1);
}

std::optional<Identity> ChunkSource::identity(int64_t id) const {
  // chunk_begin(chunk) <= id < chunk_begin(end) throughout.
  int64_t chunk = 0, end = chunks();
  while (chunk + 1 < end) {
    const int64_t middle = chunk + (end - chunk) / 2;
    (chunk_begin(middle) <= id ? chunk : end) = middle;
  }
  const std::optional<Hash128> of_chunk = chunk_identity(chunk);
  if (!of_chunk) return std::nullopt;
  Hasher hasher;
  hasher.update_value(of_chunk->high);
  hasher.update_value(of_chunk->low);
  hasher.update_value(id - chunk_begin(chunk));
  return hasher.digest();
}

}  // namespace forebay
