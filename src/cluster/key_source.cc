#include "cluster/key_source.h"

namespace forebay {

std::vector<FoundKey> find_all(KeySource& source, std::span<const WantedKey> wanted) {
  std::vector<FoundKey> found(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    found[i].coming = source.coming(wanted[i].element);
    found[i].body = source.find_wanted(wanted[i]);
  }
  return found;
}

}  // namespace forebay
