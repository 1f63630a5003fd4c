#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// One step through an XML document.
struct XmlEvent {
  enum class Kind : uint8_t { kBegin, kText, kEnd, kDone };
  Kind kind = Kind::kDone;
  std::string_view name;  ///< of kBegin and kEnd, without a namespace prefix
  std::string text;       ///< of kText, entities replaced
};

/// Reads the XML of S3 answers, step by step. Strict: tags must match, one root, nothing but the five entities and character
/// numbers, no document types, at most kMaxDepth levels. Attributes are passed over. Work and memory are linear in the
/// document, which must outlive the reader.
class XmlReader {
 public:
  static constexpr size_t kMaxDepth = 16;
  static constexpr size_t kMaxNameBytes = 256;

  explicit XmlReader(std::string_view document) : rest_(document), size_(document.size()) {}

  /// The next event; kDone for ever after the root's end. Corrupt where the document is no XML.
  Result<XmlEvent> next();
  /// The text up to the end of the element that just began, which must hold no other elements.
  Result<std::string> text_of_element();
  /// Passes over the element that just began, with all that is in it.
  Status skip_element();

 private:
  Status fail(std::string_view what) const;
  Result<XmlEvent> tag();
  Result<XmlEvent> text();
  Result<std::string_view> name();
  Status attributes(bool* empty_element);
  Status pass_over(std::string_view end, std::string_view what);
  Status entity(std::string* out);
  void skip_spaces();

  std::string_view rest_;
  const size_t size_;
  std::vector<std::string_view> open_;
  bool root_seen_ = false;
  bool close_next_ = false;  ///< `<a/>` is a begin and an end
};

}  // namespace forebay
