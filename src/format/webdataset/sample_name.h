#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// Which dot of the last path component ends the name of a sample.
enum class NameSplit : uint8_t { kFirstDot, kLastDot };

/// The name of a file in a shard: "train/0001.seg.png" is the field "seg.png" of the sample "train/0001"; split at the last dot, "png" of
/// "train/0001.seg".
struct TarSampleName {
  std::string_view base;  ///< all before the dot
  std::string extension;  ///< all behind it, in small letters
};

/// Nothing for files that belong to no sample: without an extension, hidden (".x"), and notes about the shard ("__x__"). Corrupt for
/// paths that leave their folder.
Result<std::optional<TarSampleName>> split_sample_name(std::string_view name, NameSplit split = NameSplit::kFirstDot);

/// Whether a file is a note about the shard: "__x__", or a file in a folder of such a name.
bool is_shard_note(std::string_view name);

/// What a file of an extension becomes; what stands behind the last dot decides.
enum class ExtensionKind : uint8_t {
  kBytes,
  kText,     ///< txt, text, transcript, json, jsn
  kInteger,  ///< cls, cls2, class, count, index, inx, id
  kPickle,   ///< pyd, pickle, pkl, pth, pt, joblib: refused, since reading one runs what it says
};
ExtensionKind kind_of_extension(std::string_view extension);

}  // namespace forebay
