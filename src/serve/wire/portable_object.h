#pragma once

#include <memory>
#include <string_view>

#include "forebay/tensor.h"

namespace forebay {

/// An object of another language (an exception of a user function, a batch of `.collate`), as bytes
/// that the client's language reads. In a server and in its clients it is the payload of such a
/// status, and Batch::object.
struct PortableObject {
  Tensor bytes;  ///< uint8, one axis
};

/// Copies the bytes.
std::shared_ptr<PortableObject> portable_object(std::string_view bytes);

}  // namespace forebay
