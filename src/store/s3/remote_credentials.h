#pragma once

#include <memory>
#include <string>

#include "store/http/http_transport.h"
#include "store/s3/aws_environment.h"
#include "store/s3/credentials.h"

namespace forebay {

/// Returns credentials of the container (AWS_CONTAINER_CREDENTIALS_*) or, without one, of the
/// instance (its metadata service, version 2). They are renewed before they expire. `looked` and
/// `ways_out` complete the message that there are none.
Result<std::shared_ptr<CredentialsSource>> remote_credentials(const AwsEnvironment& environment,
                                                              std::shared_ptr<HttpTransport> transport,
                                                              std::string looked, std::string ways_out);

/// Parses the answer of either service. Corrupt if a required member is missing; no message
/// contains the text.
Result<Credentials> parse_credentials_json(std::string_view text);

}  // namespace forebay
