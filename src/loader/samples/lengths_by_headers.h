#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/value_places.h"
#include "loader/compile/compile.h"
#include "loader/samples/run_pass.h"
#include "ops/image/pixel_source.h"
#include "pipeline/op_spec.h"
#include "pipeline/record_op.h"

namespace forebay {

/// The lengths of a picture, or of rows that are made of one, as the headers of the encoded pictures
/// tell them: no pixel is decoded. If the index of the data set has the places of the pictures, their
/// first bytes are read, and more of those whose header is longer.
class LengthsByHeaders {
 public:
  /// Finds those of the field as it is before step `step` of the input's description. Nothing if a
  /// step before goes by more than the sizes of pictures. The input must outlive the result. May
  /// read saved indices, until it is stopped.
  static std::optional<LengthsByHeaders> find(const CompileInput& input, size_t step, const std::string& field,
                                              std::stop_token stop);

  /// Returns the lengths by index in the selection; kLeftOut for samples that are bad and left out.
  /// `step`: the one that needs them, as messages name it.
  Result<std::vector<double>> measure(const std::string& step, const SizingInput& sizes,
                                      const PassCallbacks& callbacks) const;

  static constexpr double kLeftOut = -1;

 private:
  explicit LengthsByHeaders(const CompileInput& input) : input_(&input) {}
  bool take_steps(const Description& needed, const std::string& field, std::stop_token stop);
  bool take_decoder(const OpSpec& decoder, const Schema& before, const Schema& after);
  bool take_changes(const Description& needed, size_t begin, const std::vector<Schema>& schemas);
  Description reading(uint64_t head_bytes) const;
  Result<double> length_of(int64_t height, int64_t width, int64_t id) const;

  friend class HeaderRounds;

  const CompileInput* input_;
  std::vector<OpSpec> before_;  // the steps up to the encoded field
  std::string encoded_;         // its name there
  int64_t max_pixels_ = 0;
  std::optional<size_t> in_source_;  // the field of the source
  ValuePlaces places_;               // those of its values, if they are known
  // The sample behind the decoder: its number of fields, the picture's, and how its pixels lie.
  size_t fields_ = 0, picture_ = 0;
  UnreadPixels pixels_;
  std::vector<std::unique_ptr<RecordOp>> changes_;  // the steps behind the decoder
  size_t result_ = 0;                               // the measured field behind them
};

}  // namespace forebay
