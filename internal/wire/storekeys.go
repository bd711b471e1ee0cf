package wire

// StoreKeys are the settings that every store has, whatever its driver: an
// option of such a name would never reach the driver.
func StoreKeys() []string {
	return []string{
		"driver", "prefix", "codec", "compress", "encrypt", "timeout", "default_ttl", "ttl_jitter", "on_error", "lock",
	}
}
