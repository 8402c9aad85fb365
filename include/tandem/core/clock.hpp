// What: the time of day as files hold it. Owns: nothing. Threads: any. Throws: nothing.
#pragma once

namespace tandem {

// Now, in seconds since 1970 in UTC.
double unix_seconds();

}  // namespace tandem
