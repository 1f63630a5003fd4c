#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "forebay/result.h"

namespace forebay {

/// The name of a file in a shard: "train/0001.seg.png" is the field "seg.png" of the sample "train/0001".
struct TarSampleName {
  std::string_view base;  ///< all before the first dot of the last path component
  std::string extension;  ///< all behind it, in small letters
};

/// Nothing for files that belong to no sample: without an extension, hidden (".x"), and notes about the shard ("__x__"). Corrupt for
/// paths that leave their folder.
Result<std::optional<TarSampleName>> split_sample_name(std::string_view name);

/// What a file of an extension becomes; what stands behind the last dot decides.
enum class ExtensionKind : uint8_t {
  kBytes,
  kText,     ///< txt, text, transcript, json, jsn
  kInteger,  ///< cls, cls2, class, count, index, inx, id
  kPickle,   ///< pyd, pickle, pkl, pth, pt, joblib: refused, since reading one runs what it says
};
ExtensionKind kind_of_extension(std::string_view extension);

}  // namespace forebay
